package local

import (
	"context"
	"sync"
)

// readers is the pool of read-only connections, opened when they are needed.
type readers struct {
	path string
	cap  int

	mu     sync.Mutex
	cond   *sync.Cond
	idle   []*conn
	opened int
	closed bool
}

func newReaders(path string, n int) *readers {
	p := &readers{path: path, cap: n}
	p.cond = sync.NewCond(&p.mu)
	return p
}

func (p *readers) take() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.closed {
			return nil, errClosed
		}
		if n := len(p.idle); n > 0 {
			c := p.idle[n-1]
			p.idle = p.idle[:n-1]
			return c, nil
		}
		if p.opened < p.cap {
			break
		}
		p.cond.Wait()
	}
	c, err := openConn(p.path, true)
	if err == nil {
		err = c.run(readerPragmas)
		if err != nil {
			c.close()
		}
	}
	if err != nil {
		return nil, err
	}
	p.opened++
	return c, nil
}

func (p *readers) give(c *conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.cond.Signal()
}

// do runs f on one of the connections, inside one snapshot of the database.
func (p *readers) do(ctx context.Context, f func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := p.take()
	if err != nil {
		return err
	}
	defer p.give(c)
	return f(c)
}

// snapshot is do for several statements that must see the same state.
func (p *readers) snapshot(ctx context.Context, f func(*conn) error) error {
	return p.do(ctx, func(c *conn) error {
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		err := f(c)
		if _, e := c.exec("COMMIT"); err == nil {
			err = e
		}
		return err
	})
}

// close waits for the reads under way.
func (p *readers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.cond.Broadcast()
	for p.opened > 0 {
		for len(p.idle) == 0 {
			p.cond.Wait()
		}
		for _, c := range p.idle {
			c.close()
			p.opened--
		}
		p.idle = nil
	}
}
