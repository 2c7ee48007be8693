package mcp

import (
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Progress is what a tool's readers see of a server's progress notifications.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// listeners are the calls that wait for progress, by token.
type listeners struct {
	mu   sync.Mutex
	last int
	by   map[string]func(Progress)
}

func newListeners() *listeners { return &listeners{by: map[string]func(Progress){}} }

// add registers a call. fn isn't called any more once remove returned.
func (l *listeners) add(fn func(Progress)) (token string, remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	token = strconv.Itoa(l.last)
	l.by[token] = fn
	return token, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.by, token)
	}
}

// deliver hands a notification to its call; late and foreign ones go nowhere.
func (l *listeners) deliver(p *sdk.ProgressNotificationParams) {
	if p == nil {
		return
	}
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if fn := l.by[token]; fn != nil {
		fn(Progress{Progress: p.Progress, Total: p.Total, Message: p.Message})
	}
}
