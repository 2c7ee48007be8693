package providers_test

import (
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent/model"
	"github.com/parley-dev/parley/agent/model/providers"
)

// Quoted by docs/models.md.

var small = providers.MustParse("openai:gpt-5-mini")

// newQwen is a model of a vLLM.
func newQwen() (model.Model, error) {
	return providers.Parse("openai:qwen3-32b", providers.Env{Options: providers.Options{
		BaseURL: "http://gpu-box:8000/v1",
		KeyFile: "/run/secrets/vllm",
		Timeout: 2 * time.Minute,
	}})
}

func ExampleMustParse() {
	fmt.Println(small)
	_, err := newQwen()
	fmt.Println(err)
	// Output:
	// openai:gpt-5-mini
	// openai:qwen3-32b: model: no API key: open /run/secrets/vllm: no such file or directory
}
