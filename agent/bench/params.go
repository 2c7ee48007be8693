package bench

import (
	"strings"
	"time"

	"github.com/parley-dev/parley/agent/message"
)

// params are what a prompt asks of the fake model.
type params struct {
	tokens     int
	interval   time.Duration // between the due times of tokens
	startDelay time.Duration
	stamp      bool
}

// paramsOf reads words of the form key=number; others are ignored.
func paramsOf(prompt string) params {
	p := params{tokens: 200}
	for word := range strings.FieldsSeq(prompt) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			continue
		}
		n := leadingInt(value)
		switch key {
		case "tokens":
			p.tokens = max(n, 0)
		case "delay_us":
			p.interval = time.Duration(n) * time.Microsecond
		case "start_ms":
			p.startDelay = time.Duration(n) * time.Millisecond
		case "stamp":
			p.stamp = n != 0
		}
	}
	return p
}

// leadingInt is JavaScript's parseInt for decimal numbers, with 0 for none.
func leadingInt(s string) int {
	negative := strings.HasPrefix(s, "-")
	n := 0
	for _, c := range strings.TrimPrefix(s, "-") {
		if c < '0' || c > '9' || n > 1<<40 {
			break
		}
		n = n*10 + int(c-'0')
	}
	if negative {
		return -n
	}
	return n
}

// newestHuman is the text of the newest human message, "" when there is none.
func newestHuman(l message.List) string {
	for _, m := range l.Backward() {
		if m.Type == message.Human {
			return m.Text()
		}
	}
	return ""
}
