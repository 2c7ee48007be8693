package captures_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readReply reads a JSON reply; a text becomes a string, an empty body nothing.
func readReply(t *testing.T, res *http.Response) json.RawMessage {
	t.Helper()
	defer res.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if len(body) > 0 && !json.Valid(body) {
		body, err = json.Marshal(string(body))
		require.NoError(t, err)
	}
	return body
}

// openStream reads a stream frame by frame.
type openStream struct {
	t     *testing.T
	res   *http.Response
	lines *bufio.Reader
	read  bytes.Buffer
	count int
}

func newStream(t *testing.T, res *http.Response) *openStream {
	return &openStream{t: t, res: res, lines: bufio.NewReader(res.Body)}
}

// until reads until n frames have come.
func (s *openStream) until(n int) {
	s.t.Helper()
	for s.count < n {
		line, err := s.lines.ReadString('\n')
		require.NoError(s.t, err)
		s.read.WriteString(line)
		if line == "\n" {
			s.count++
		}
	}
}

// rest reads to the end and returns the whole body, without heartbeats.
func (s *openStream) rest() string {
	s.t.Helper()
	defer s.res.Body.Close() //nolint:errcheck // read to its end
	_, err := io.Copy(&s.read, s.lines)
	require.NoError(s.t, err)
	return strings.ReplaceAll(s.read.String(), ": heartbeat\n", "")
}
