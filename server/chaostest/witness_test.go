package chaostest

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// witness is the world outside, in which steps have effects: a file to which each
// writes a line of its own. The lines of all replicas are in the order in which they were written.
type witness struct {
	f    *os.File
	life string
	n    atomic.Int64
}

func openWitness(path, life string) (*witness, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the test's own
	return &witness{f: f, life: life}, err
}

// did notes an effect and returns its name, which no other has.
func (w *witness) did(key, thread, step string) (string, error) {
	nonce := fmt.Sprintf("%s.%d", w.life, w.n.Add(1))
	return nonce, w.note("did", key, nonce, thread, step)
}

// got notes that a step was recorded: its node goes on with what it did.
func (w *witness) got(key, nonce, thread, step string) error {
	return w.note("got", key, nonce, thread, step)
}

func (w *witness) note(what, key, nonce, thread, step string) error {
	_, err := fmt.Fprintf(w.f, "%s %s %s %s %s %s %d\n", what, key, nonce, w.life, thread, step, time.Now().UnixMilli())
	return err
}

// effect is a line of the witness.
type effect struct {
	got                            bool // it is recorded
	key, nonce, life, thread, step string
	at                             time.Time
}

// effects reads the witness.
func effects(path string) (list []effect, err error) {
	f, err := os.Open(path) //nolint:gosec // the test's own
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e effect
		var what string
		var ms int64
		if _, err := fmt.Fscan(strings.NewReader(lines.Text()), &what, &e.key, &e.nonce, &e.life, &e.thread, &e.step, &ms); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		e.at, e.got = time.UnixMilli(ms), what == "got"
		list = append(list, e)
	}
	return list, lines.Err()
}
