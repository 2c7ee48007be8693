package chaostest

import (
	"net"
	"sync"
	"time"
)

// proxy passes connections on to a server, and can do to them what networks do.
type proxy struct {
	l    net.Listener
	done sync.WaitGroup

	mu     sync.Mutex
	calm   *sync.Cond // the rules have changed
	target string     // "" : nobody is there
	rules  rules
	pairs  map[*pair]bool
	closed bool
}

// rules are what happens to bytes.
type rules struct {
	holdUp, holdDown bool // bytes to the server, from the server wait
	delay            time.Duration
}

// pair is a connection and what it is passed on to.
type pair struct{ client, server net.Conn }

func (p *pair) close() {
	_ = p.client.Close()
	_ = p.server.Close()
}

func newProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{l: l, target: target, pairs: map[*pair]bool{}}
	p.calm = sync.NewCond(&p.mu)
	p.done.Go(p.accept)
	return p, nil
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) accept() {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.pass(c) })
	}
}

// pass serves one connection to its end.
func (p *proxy) pass(client net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.DialTimeout("tcp", target, time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	x := &pair{client, server}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		x.close()
		return
	}
	p.pairs[x] = true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.copy(x, client, server, func(r rules) bool { return r.holdUp }) })
	both.Go(func() { p.copy(x, server, client, func(r rules) bool { return r.holdDown }) })
	both.Wait()
	p.mu.Lock()
	delete(p.pairs, x)
	p.mu.Unlock()
}

// copy passes on one direction. Either's end ends both.
func (p *proxy) copy(x *pair, from, to net.Conn, held func(rules) bool) {
	defer p.calm.Broadcast()
	defer x.close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.mu.Lock()
			for held(p.rules) && !p.closed && p.pairs[x] {
				p.calm.Wait()
			}
			delay := p.rules.delay
			p.mu.Unlock()
			if delay > 0 {
				time.Sleep(delay)
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// set changes what happens to bytes.
func (p *proxy) set(r rules) {
	p.mu.Lock()
	p.rules = r
	p.mu.Unlock()
	p.calm.Broadcast()
}

// aim changes where new connections are passed on to.
func (p *proxy) aim(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
}

// cut ends all connections; new ones are taken.
func (p *proxy) cut() {
	p.mu.Lock()
	for x := range p.pairs {
		x.close()
		delete(p.pairs, x)
	}
	p.mu.Unlock()
	p.calm.Broadcast()
}

// close ends the proxy, and waits.
func (p *proxy) close() {
	_ = p.l.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cut()
	p.done.Wait()
}
