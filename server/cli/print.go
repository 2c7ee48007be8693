package cli

import (
	"bytes"
	"encoding/json"
	"io"
)

// writeIndented prints JSON as it came, indented, and with escapes for what would work a terminal.
func writeIndented(w io.Writer, raw json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(escapeJSON(b.Bytes()))
	return err
}
