package reviews

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/thread"
)

const (
	// exportWrite bounds each write to a reader of an export.
	exportWrite = 30 * time.Second
	// exportBuffer is written at once.
	exportBuffer = 64 << 10
)

// export is GET …/audit/export: all entries that the filters select, oldest first, up to the newest at its
// start. One that breaks off ends with a cut connection, never as if it were complete.
func (a *API) export(c echo.Context) error {
	q, err := auditQuery(c)
	if err != nil {
		return err
	}
	format, mime := c.QueryParam("format"), "application/x-ndjson"
	switch format {
	case "", "jsonl":
		format = "jsonl"
	case "csv":
		mime = "text/csv; charset=utf-8"
	default:
		return apierror.BadField(apierror.CodeInvalid, "format", "Want jsonl or csv.")
	}
	w := bufio.NewWriterSize(bounded{a.o.Writer(c)}, exportBuffer)
	write := lines(w)
	if format == "csv" {
		if write, err = rows(w); err != nil {
			return err
		}
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, mime)
	h.Set(echo.HeaderContentDisposition, `attachment; filename="audit-`+q.Project+`.`+format+`"`)
	h.Set(echo.HeaderCacheControl, "no-store")
	if err := a.o.Service.ExportAudit(c.Request().Context(), q, write); err != nil {
		h.Del(echo.HeaderContentDisposition)
		return err
	}
	if w.Buffered() == 0 && !c.Response().Committed { // nothing was found
		return c.NoContent(http.StatusOK)
	}
	return w.Flush()
}

// bounded is a writer whose every write has a deadline.
type bounded struct{ w http.ResponseWriter }

func (b bounded) Write(p []byte) (int, error) {
	_ = http.NewResponseController(b.w).SetWriteDeadline(time.Now().Add(exportWrite)) // not every connection has deadlines
	return b.w.Write(p)
}

// exported is a line of an export. Its body is the text whose SHA-256 goes into the hash, to the byte.
type exported struct {
	entryJSON
	Body string `json:"body"`
}

// lines writes entries as JSON Lines.
func lines(w io.Writer) func(thread.AuditFound) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return func(f thread.AuditFound) error { return e.Encode(exported{entry(f), string(f.Body)}) }
}

// columns are those of a CSV export.
var columns = []string{
	"project_id", "seq", "at", "at_us", "action", "principal", "kind", "roles", "address", "request_id", "via",
	"thread_id", "thread_seq", "review_id", "interrupt_id", "run_id", "execution_id", "agent", "tool", "generation", "digest",
	"decision", "notes", "cause", "prev", "hash", "seal", "body",
}

// rows writes entries as CSV, behind a header.
func rows(w io.Writer) (func(thread.AuditFound) error, error) {
	c := csv.NewWriter(struct{ io.Writer }{w}) // else it would take our buffer for its own, and flush it with each row
	if err := c.Write(columns); err != nil {
		return nil, err
	}
	c.Flush()
	return func(f thread.AuditFound) error {
		b := f.AuditBody
		cells := []string{
			f.Project, number(f.Seq), f.At.UTC().Format(auditTime), number(f.At.UnixMicro()), b.Action, b.Actor.Principal, b.Actor.Kind,
			strings.Join(b.Actor.Roles, " "), b.Actor.Address, b.Actor.RequestID, b.Actor.Via,
			f.ThreadID, number(f.ThreadSeq), b.ReviewID, b.InterruptID, b.RunID, b.ExecutionID, b.Agent, b.Tool, number(b.Generation), b.Digest,
			b.Decision, b.Notes, b.Cause, f.Prev, f.Hash, f.Seal, string(f.Body),
		}
		for i := range cells {
			cells[i] = harmless(cells[i])
		}
		if err := c.Write(cells); err != nil {
			return err
		}
		c.Flush()
		return c.Error()
	}, c.Error()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// harmless keeps spreadsheets from taking a cell for a formula (CWE-1236): an apostrophe stands
// before what would begin one. Numbers, hashes and bodies never do.
func harmless(cell string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, " \u00a0\ufeff"))
	if strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", first) && first != utf8.RuneError {
		return "'" + cell
	}
	return cell
}
