package reviews

import (
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/parley-dev/parley/server/apierror"
	"github.com/parley-dev/parley/thread"
)

// verifiedJSON is what a verification of the audit log found.
type verifiedJSON struct {
	Project   string       `json:"project_id"`
	Valid     bool         `json:"valid"`
	Entries   int64        `json:"entries"`
	Threads   int          `json:"threads"`
	Unsealed  int          `json:"unsealed"` // younger than a minute
	Last      *lastJSON    `json:"last"`
	Problem   *problemJSON `json:"problem"` // the first bad entry
	CheckedAt *string      `json:"checked_at"`
}

type lastJSON struct {
	Seq  int64  `json:"seq"`
	Seal string `json:"seal"`
	At   string `json:"at"`
}

type problemJSON struct {
	Detail    string  `json:"detail"`
	Problem   string  `json:"problem"`
	Seq       int64   `json:"seq"`
	ThreadID  *string `json:"thread_id"`
	ThreadSeq int64   `json:"thread_seq"`
}

// sealBytes is the length of a seal (SHA-256).
const sealBytes = 32

// verify is GET …/audit/verify. With seq and seal it also checks that an entry which was seen before still stands.
func (a *API) verify(c echo.Context) error {
	if err := wholeProject(c); err != nil {
		return err
	}
	var anchor thread.AuditAnchor
	seq, seal := c.QueryParam("seq"), c.QueryParam("seal")
	if seq != "" || seal != "" {
		n, err := strconv.ParseInt(seq, 10, 64)
		bytes, notHex := hex.DecodeString(seal)
		switch {
		case seq == "":
			return apierror.BadField(apierror.CodeMissing, "seq", "The seq of the seal is missing: give both, of an entry that you have seen.")
		case seal == "":
			return apierror.BadField(apierror.CodeMissing, "seal", "The seal of the seq is missing: give both, of an entry that you have seen.")
		case err != nil || n < 1:
			return apierror.BadField(apierror.CodeInvalid, "seq", "The seq of an entry is a whole number above 0.")
		case notHex != nil || len(bytes) != sealBytes:
			return apierror.BadField(apierror.CodeInvalid, "seal", "The seal is malformed: it has 64 hexadecimal digits, as the log and an earlier verification print it.")
		}
		anchor = thread.AuditAnchor{Seq: n, Seal: seal}
	}
	r, err := a.o.Service.VerifyAudit(c.Request().Context(), c.Param("project_id"), anchor)
	if err != nil {
		return err
	}
	out := verifiedJSON{
		Project: r.Project, Valid: r.Err == nil, Entries: r.Entries, Threads: r.Threads, Unsealed: r.Unsealed, CheckedAt: stamp(r.At),
	}
	if r.Last.Seq > 0 {
		out.Last = &lastJSON{r.Last.Seq, r.Last.Seal, r.Last.At.UTC().Format(auditTime)}
	}
	if e := r.Err; e != nil {
		out.Problem = &problemJSON{e.Error(), e.Problem, e.Entry.Seq, nullable(e.Entry.ThreadID), e.Entry.ThreadSeq}
	}
	return writeJSON(c, http.StatusOK, out)
}
