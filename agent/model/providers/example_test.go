package providers_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-dev/parley/agent/message"
	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/providers"
)

func ExampleParse() {
	m, err := providers.Parse("scripted:echo", providers.Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := model.Collect(context.Background(), m, model.Request{Messages: message.New(message.NewHuman("Hello there."))})
	fmt.Println(answer.Text(), err)

	_, err = providers.Parse("openai:gpt-5-mini", providers.Env{Options: providers.Options{KeyEnv: "NO_SUCH_VARIABLE"}})
	fmt.Println(errors.Is(err, model.ErrNoKey))
	// Output:
	// Hello there. <nil>
	// true
}
