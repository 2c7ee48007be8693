package conformance

import (
	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

type model interface {
	Call(ctx agent.Context, prompt message.List) (message.Message, error)
}

func stableModel(answers ...string) model               { panic("unimplemented") }
func listModel(answers ...string) model                 { panic("unimplemented") }
func textModel(answers ...string) model                 { panic("unimplemented") }
func toolCallingModel(answers ...message.Message) model { panic("unimplemented") }
