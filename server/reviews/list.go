package reviews

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/server/auth"
	"github.com/parley-dev/parley/thread"
)

const (
	defaultPage = 50
	longestPage = 200
)

// statuses are what the list can be filtered by; open is pending or claimed.
var statuses = map[string][]thread.ReviewStatus{
	"open":                          {thread.ReviewPending, thread.ReviewClaimed},
	string(thread.ReviewPending):    {thread.ReviewPending},
	string(thread.ReviewClaimed):    {thread.ReviewClaimed},
	string(thread.ReviewDecided):    {thread.ReviewDecided},
	string(thread.ReviewExpired):    {thread.ReviewExpired},
	string(thread.ReviewSuperseded): {thread.ReviewSuperseded},
}

// list is GET …/reviews.
func (a *API) list(c echo.Context) error {
	q, err := listQuery(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	found, next, err := a.o.Service.SearchReviews(ctx, q)
	if err != nil {
		return err
	}
	e, out := a.encoder(c), make([]reviewJSON, len(found))
	for i, r := range found {
		if out[i], err = e.review(ctx, r, false); err != nil {
			return err
		}
	}
	return writeJSON(c, http.StatusOK, struct {
		Reviews []reviewJSON `json:"reviews"`
		Next    *string      `json:"next_cursor"`
	}{out, nullable(next)})
}

// listQuery reads the filters of a list.
func listQuery(c echo.Context) (thread.ReviewQuery, error) {
	u := auth.UserFrom(c.Request().Context())
	q := thread.ReviewQuery{
		Project: c.Param("project_id"), Workspace: c.QueryParam("workspace_id"), Agent: c.QueryParam("agent"), Tool: c.QueryParam("tool"),
		Assignee: c.QueryParam("assignee"), ExecutionID: c.QueryParam("execution_id"), ThreadID: strings.ToLower(c.QueryParam("thread_id")), Text: c.QueryParam("q"),
		Cursor: c.QueryParam("cursor"), Keep: u.SeesReview,
	}
	if q.Assignee == "me" {
		q.Assignee = thread.Anonymous
		if u != nil && u.Identity != "" {
			q.Assignee = u.Identity
		}
	}
	for _, given := range c.QueryParams()["status"] {
		for name := range strings.SplitSeq(given, ",") {
			list, ok := statuses[strings.ToLower(strings.TrimSpace(name))]
			if !ok {
				return q, apierror.BadField(apierror.CodeInvalid, "status", "Unknown status "+strconv.Quote(name)+
					": want open, pending, claimed, decided, expired or superseded.")
			}
			for _, s := range list {
				if !slices.Contains(q.Statuses, s) {
					q.Statuses = append(q.Statuses, s)
				}
			}
		}
	}
	var err error
	if age := c.QueryParam("min_age"); age != "" {
		if q.MinAge, err = span(age); err != nil {
			return q, apierror.BadField(apierror.CodeInvalid, "min_age", "Want seconds, or a duration such as 15m, received "+strconv.Quote(age)+".")
		}
	}
	q.Limit, err = limit(c)
	return q, err
}

// limit is how many entries a page has at most.
func limit(c echo.Context) (int, error) {
	given := c.QueryParam("limit")
	if given == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 || n > longestPage {
		return 0, apierror.BadField(apierror.CodeInvalid, "limit", "Want a number from 1 to "+strconv.Itoa(longestPage)+".")
	}
	return n, nil
}

// span reads seconds, or a duration such as 15m.
func span(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds >= 0 && seconds <= maxSeconds) {
			return 0, strconv.ErrRange
		}
		return time.Duration(seconds * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = strconv.ErrRange
	}
	return d, err
}

// maxSeconds bounds durations: 100 years.
const maxSeconds = 100 * 366 * 24 * 3600
