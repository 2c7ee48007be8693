package reviews

import (
	"encoding/json"
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

// entryJSON is an entry of the audit log. Who did it and what it was about also stand at its top;
// body is all of it, and what is hashed.
type entryJSON struct {
	Project   string          `json:"project_id"`
	Seq       int64           `json:"seq"`
	At        string          `json:"at"`
	AtMicros  int64           `json:"at_us"`
	Action    string          `json:"action"`
	Principal *string         `json:"principal"`
	ThreadID  *string         `json:"thread_id"`
	ThreadSeq int64           `json:"thread_seq"`
	ReviewID  *string         `json:"review_id"`
	Execution *string         `json:"execution_id"`
	Agent     *string         `json:"agent"`
	Decision  *string         `json:"decision"`
	Prev      string          `json:"prev"`
	Hash      string          `json:"hash"`
	Seal      string          `json:"seal"`
	Body      json.RawMessage `json:"body"`
}

// auditTime has the entries' whole precision.
const auditTime = "2006-01-02T15:04:05.000000Z"

func entry(f thread.AuditFound) entryJSON {
	return entryJSON{
		Project: f.Project, Seq: f.Seq, At: f.At.UTC().Format(auditTime), AtMicros: f.At.UnixMicro(), Action: f.Action,
		Principal: nullable(f.Actor.Principal), ThreadID: nullable(f.ThreadID), ThreadSeq: f.ThreadSeq, ReviewID: nullable(f.ReviewID),
		Execution: nullable(f.ExecutionID), Agent: nullable(f.AuditBody.Agent), Decision: nullable(f.Decision),
		Prev: f.Prev, Hash: f.Hash, Seal: f.Seal, Body: f.Body,
	}
}

// audit is GET …/audit.
func (a *API) audit(c echo.Context) error {
	q, err := auditQuery(c)
	if err != nil {
		return err
	}
	if q.Limit, err = limit(c); err != nil {
		return err
	}
	if at := c.QueryParam("cursor"); at != "" {
		if q.Cursor, err = strconv.ParseInt(at, 10, 64); err != nil || q.Cursor < 1 {
			return apierror.BadField(apierror.CodeInvalid, "cursor", "It is not a cursor of this list.")
		}
	}
	found, next, err := a.o.Service.SearchAudit(c.Request().Context(), q)
	if err != nil {
		return err
	}
	list := make([]entryJSON, len(found))
	for i, f := range found {
		list[i] = entry(f)
		if !json.Valid(list[i].Body) { // a damaged entry; verify says so
			list[i].Body, _ = encode(string(list[i].Body))
		}
	}
	var cursor *string
	if next != 0 {
		cursor = nullable(strconv.FormatInt(next, 10))
	}
	return writeJSON(c, http.StatusOK, struct {
		Entries []entryJSON `json:"entries"`
		Next    *string     `json:"next_cursor"`
	}{list, cursor})
}

// auditQuery reads the filters of the audit log.
func auditQuery(c echo.Context) (thread.AuditQuery, error) {
	if err := wholeProject(c); err != nil {
		return thread.AuditQuery{}, err
	}
	q := thread.AuditQuery{
		Project: c.Param("project_id"), ThreadID: strings.ToLower(c.QueryParam("thread_id")), ExecutionID: c.QueryParam("execution_id"),
		ReviewID: c.QueryParam("review_id"), Principal: c.QueryParam("principal"), Agent: c.QueryParam("agent"),
	}
	for _, given := range c.QueryParams()["action"] {
		for action := range strings.SplitSeq(given, ",") {
			switch action = strings.TrimSpace(action); {
			case action == "":
			case !slices.Contains(auditActions, action):
				return q, apierror.BadField(apierror.CodeInvalid, "action", "Unknown action "+strconv.Quote(action)+": want "+
					strings.Join(auditActions[:len(auditActions)-1], ", ")+" or "+auditActions[len(auditActions)-1]+".")
			default:
				q.Actions = append(q.Actions, action)
			}
		}
	}
	var err error
	if q.Since, err = queryTime(c, "since"); err != nil {
		return q, err
	}
	if q.Until, err = queryTime(c, "until"); err != nil {
		return q, err
	}
	switch order := c.QueryParam("order"); order {
	case "", "desc":
	case "asc":
		q.Oldest = true
	default:
		return q, apierror.BadField(apierror.CodeInvalid, "order", "Want asc or desc.")
	}
	return q, nil
}

// auditActions are what the log can be filtered by.
var auditActions = []string{
	thread.AuditRequested, thread.AuditClaimed, thread.AuditReleased, thread.AuditExtended, thread.AuditCommented, thread.AuditExpiring,
	thread.AuditEscalated, thread.AuditDecided, thread.AuditExpired, thread.AuditSuperseded, thread.AuditReopened, thread.AuditRefused,
	thread.AuditExecuted, thread.AuditDeleted, thread.AuditKeyCreated, thread.AuditKeyRevoked, thread.AuditPolicy,
}

// wholeProject refuses who is bound to a workspace: the log is the project's, and can be checked as a whole only.
func wholeProject(c echo.Context) error {
	if u := auth.UserFrom(c.Request().Context()); u != nil && u.Workspace != "" {
		return &auth.Error{
			Status: http.StatusForbidden, Code: "bound_to_workspace",
			Message: "The audit log is for owners of the whole project; you are bound to the workspace " + u.Workspace,
		}
	}
	return nil
}

// queryTime reads a time of the query; zero when it is absent.
func queryTime(c echo.Context, key string) (time.Time, error) {
	text := c.QueryParam(key)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := readTime(text)
	if err != nil {
		return t, apierror.BadField(apierror.CodeInvalid, key, "The parameter "+key+" wants a time such as 2026-11-30T12:00:00Z.")
	}
	return t, nil
}
