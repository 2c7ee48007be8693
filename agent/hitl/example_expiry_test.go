package hitl_test

import (
	"fmt"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/hitl"
)

// deadlines lets calls wait for two days only.
var deadlines = hitl.Policy{
	"transfer": {Decisions: hitl.All(), Deadline: 48 * time.Hour, OnExpiry: hitl.OnExpiry{
		Action: agent.ExpireEscalate, Role: "team:finance", Message: "Ask again next week.",
	}},
	"send_mail": {Decisions: hitl.All(), Deadline: 48 * time.Hour},
}

func ExampleRule_Expiry() {
	fmt.Println(deadlines["transfer"].Expiry().End())
	// Output: reject
}
