package server

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Refusals repeat what was sent: a decision, a name.
func TestErrorsDoNotWorkTheTerminal(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.Equal(t, 1, fail(&b, errors.New("the decision \"\x1b[2J\u009b\u202e\" is not allowed")))
	require.Equal(t, "parley: the decision \"\\u001b[2J\\u009b\\u202e\" is not allowed\n", b.String())
}
