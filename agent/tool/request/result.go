package request

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/parley-dev/parley/agent/tool"
)

// result is what the model reads of an answer. Whole JSON stays JSON; other text stays as
// it is; of other content it is told type and size only.
func (s *sender) result(ctx context.Context, res *http.Response) (any, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(s.MaxBytes)+1))
	if err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", s.failure(ctx, err))
	}
	cut := len(body) > s.MaxBytes
	if cut {
		body = body[:s.MaxBytes]
	}
	content := s.content(res, body, cut)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return tool.Result{Content: fmt.Sprintf("HTTP %s\n%s", res.Status, text(content)), Failed: true}, nil
	}
	return content, nil
}

func (s *sender) content(res *http.Response, body []byte, cut bool) any {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if !cut && strings.HasSuffix(kind, "json") && json.Valid(body) {
		var b bytes.Buffer
		if json.Compact(&b, body) == nil {
			return json.RawMessage(b.Bytes())
		}
	}
	for i := 1; cut && i < utf8.UTFMax && !utf8.Valid(body); i++ { // cut in the middle of a character
		body = body[:len(body)-1]
	}
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return fmt.Sprintf("HTTP %s, without content", res.Status)
	case !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0:
		return fmt.Sprintf("HTTP %s with content that is no text (%s)", res.Status, kind)
	case cut:
		return string(body) + fmt.Sprintf("\n[cut off after %d bytes]", s.MaxBytes)
	}
	return string(body)
}

func text(content any) string {
	if raw, ok := content.(json.RawMessage); ok {
		return string(raw)
	}
	s, _ := content.(string)
	return s
}
