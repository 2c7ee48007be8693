package server

import (
	"errors"
	"fmt"
	"os"

	"github.com/parley-dev/parley/thread"
)

// contextEnv has the keys of Options.ContextKeys.
const contextEnv = "PARLEY_CONTEXT_KEY"

// contextFlags say what seals the sealed context of executions (docs/executions.md).
type contextFlags struct {
	ContextKeyFile string `help:"File with the keys that encrypt what invocations bring as sealed_context: 32 bytes each in base64 or hex, one a line. The first encrypts, all decrypt. Default: PARLEY_CONTEXT_KEY, or sealed_context is refused." env:"PARLEY_CONTEXT_KEY_FILE" type:"path" placeholder:"FILE"`
}

// apply takes the keys over.
func (f contextFlags) apply(o *Options) error {
	text, from := os.Getenv(contextEnv), contextEnv
	if f.ContextKeyFile != "" {
		if text != "" {
			return errors.New("--context-key-file and " + contextEnv + " exclude each other")
		}
		b, err := os.ReadFile(f.ContextKeyFile)
		if err != nil {
			return fmt.Errorf("--context-key-file: %w", err)
		}
		text, from = string(b), f.ContextKeyFile
	} else if text == "" {
		return nil
	}
	keys, err := thread.ParseKeyring(text)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	o.ContextKeys = keys
	return nil
}
