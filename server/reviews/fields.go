package reviews

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
)

// fields reads the members of a request's body; what is wrong is collected, so that one reply tells all faults.
type fields struct {
	values map[string]json.RawMessage
	faults []*apierror.Error
}

// fields reads the body as an object.
func (a *API) fields(c echo.Context) (*fields, error) {
	raw, err := a.o.Body(c)
	if err != nil {
		return nil, err
	}
	if err := apierror.Unambiguous(raw); err != nil {
		return nil, err
	}
	f := &fields{}
	if json.Unmarshal(raw, &f.values) != nil || f.values == nil {
		return nil, apierror.New(http.StatusBadRequest, apierror.CodeInvalid, "The body must be a JSON object.")
	}
	return f, nil
}

// bad notes what is wrong with a member.
func (f *fields) bad(code, field, description string) {
	f.faults = append(f.faults, apierror.BadField(code, field, description))
}

// err is all that was found wrong; nil for nothing.
func (f *fields) err() error {
	if len(f.faults) == 0 {
		return nil
	}
	first := f.faults[0]
	for _, e := range f.faults[1:] {
		first.Parameters = append(first.Parameters, e.Parameters...)
		first.Fields = append(first.Fields, e.Fields...)
	}
	return first
}

// only refuses members that aren't among the known.
func (f *fields) only(known ...string) {
	var unknown []string
	for k := range f.values {
		if !slices.Contains(known, k) {
			unknown = append(unknown, k)
		}
	}
	slices.Sort(unknown)
	for _, k := range unknown {
		f.bad(apierror.CodeUnknown, k, "There is no field "+strconv.Quote(k)+" here.")
	}
}

// has reports whether a member is there, be it null.
func (f *fields) has(key string) bool { _, ok := f.values[key]; return ok }

// raw is a member; nil when it is absent or null.
func (f *fields) raw(key string) json.RawMessage {
	if v := f.values[key]; len(v) > 0 && string(v) != "null" {
		return v
	}
	return nil
}

// text is a text; "" when it is absent or null.
func (f *fields) text(key string) string {
	v := f.raw(key)
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		f.bad(apierror.CodeInvalid, key, key+" must be a text.")
	}
	return s
}

// positive is a whole number above 0; 0 when it is absent.
func (f *fields) positive(key string) int64 {
	v := f.raw(key)
	if v == nil {
		return 0
	}
	var n int64
	if json.Unmarshal(v, &n) != nil || n < 1 {
		f.bad(apierror.CodeInvalid, key, key+" must be a whole number above 0.")
		return 0
	}
	return n
}

// span is a duration, in seconds or as 15m; 0 when it is absent.
func (f *fields) span(key string) time.Duration {
	v := f.raw(key)
	if v == nil {
		return 0
	}
	text := string(v)
	if v[0] == '"' && json.Unmarshal(v, &text) != nil {
		text = ""
	}
	d, err := span(text)
	if err != nil || d == 0 {
		f.bad(apierror.CodeInvalid, key, key+" must be a number of seconds above 0, or a duration such as 15m.")
		return 0
	}
	return d
}

// time is a point in time; zero when it is absent.
func (f *fields) time(key string) time.Time {
	v := f.raw(key)
	if v == nil {
		return time.Time{}
	}
	t, err := readTime(f.text(key))
	if err != nil {
		f.bad(apierror.CodeInvalid, key, key+" must be a time such as 2026-11-30T12:00:00Z.")
	}
	return t
}

var errNoTime = errors.New("not a time")

func readTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, errNoTime
	}
	return t, nil
}
