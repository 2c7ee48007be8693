package model

import "time"

// Timeouts bound one attempt of a call over the network. 0 stands for the
// default, a negative value for no limit.
type Timeouts struct {
	// Connect is the time until the connection stands, TLS included; default 10 s.
	Connect time.Duration
	// FirstToken is the time until the first piece of the answer; default 5 min,
	// as some models think for long before they say anything.
	FirstToken time.Duration
	// Idle is the longest silence of the server behind the first piece; default 2 min.
	// Keep-alives of the server count as a sign of life.
	Idle time.Duration
	// Total is the time for the whole answer; default 30 min.
	Total time.Duration
}

// WithDefaults returns t with the defaults in place of zeros; no limit is 0.
func (t Timeouts) WithDefaults() Timeouts {
	pick := func(d, standard time.Duration) time.Duration {
		switch {
		case d == 0:
			return standard
		case d < 0:
			return 0
		}
		return d
	}
	return Timeouts{
		Connect:    pick(t.Connect, 10*time.Second),
		FirstToken: pick(t.FirstToken, 5*time.Minute),
		Idle:       pick(t.Idle, 2*time.Minute),
		Total:      pick(t.Total, 30*time.Minute),
	}
}
