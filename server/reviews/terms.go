package reviews

import (
	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/thread"
)

// change carries out a change of the review of the path, with a body of the known members.
func (a *API) change(c echo.Context, do func(r thread.Review, f *fields) (thread.Review, error), known ...string) error {
	r, err := a.review(c)
	if err != nil {
		return err
	}
	f, err := a.fields(c)
	if err != nil {
		return err
	}
	f.only(known...)
	changed, err := do(r, f)
	if err != nil {
		return refusal(err, changed)
	}
	return a.reply(c, changed)
}

// claim is POST …/reviews/{review_id}/claim: {"for": "15m"}, or nothing for the default.
func (a *API) claim(c echo.Context) error {
	return a.change(c, func(r thread.Review, f *fields) (thread.Review, error) {
		d := f.span("for")
		if err := f.err(); err != nil {
			return thread.Review{}, err
		}
		return a.o.Service.ClaimReview(c.Request().Context(), r.ID, d)
	}, "for")
}

// release is POST …/reviews/{review_id}/release.
func (a *API) release(c echo.Context) error {
	return a.change(c, func(r thread.Review, f *fields) (thread.Review, error) {
		if err := f.err(); err != nil {
			return thread.Review{}, err
		}
		return a.o.Service.ReleaseReview(c.Request().Context(), r.ID)
	})
}

// extend is POST …/reviews/{review_id}/extend: {"by": "1h"} or {"until": "2026-11-30T12:00:00Z"}.
func (a *API) extend(c echo.Context) error {
	return a.change(c, func(r thread.Review, f *fields) (thread.Review, error) {
		by, until := f.span("by"), f.time("until")
		if f.raw("by") == nil == (f.raw("until") == nil) {
			f.bad(apierror.CodeMissing, "by", "Give either by, how much longer, or until, the new deadline.")
		}
		if err := f.err(); err != nil {
			return thread.Review{}, err
		}
		return a.o.Service.ExtendReview(c.Request().Context(), r.ID, by, until)
	}, "by", "until")
}

// comment is POST …/reviews/{review_id}/comments: {"text": "…"}.
func (a *API) comment(c echo.Context) error {
	return a.change(c, func(r thread.Review, f *fields) (thread.Review, error) {
		text := f.text("text")
		if err := f.err(); err != nil {
			return thread.Review{}, err
		}
		return a.o.Service.CommentReview(c.Request().Context(), r.ID, text)
	}, "text")
}
