package lambda

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

// pool is the processes of one function. One that is free is used again, the one that was used last
// first; where none is, another one is started.
type pool struct {
	service *Service
	f       Function
	log     *os.File
	slots   chan struct{} // nil without a limit

	mu     sync.Mutex
	free   []*sandbox
	all    map[*sandbox]bool
	closed bool
}

func newPool(s *Service, f Function, log *os.File) *pool {
	p := &pool{service: s, f: f, log: log, all: map[*sandbox]bool{}}
	if f.Concurrency > 0 {
		p.slots = make(chan struct{}, f.Concurrency)
	}
	return p
}

var errClosed = errors.New("lambda: closed")

func (p *pool) invoke(ctx context.Context, event []byte) (*Reply, error) {
	if p.slots != nil {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	box, err := p.take()
	if err != nil {
		p.leave()
		return nil, err
	}
	p.service.counts.invocations.Add(1)
	inv := newInvocation(p.f, event)
	go func() {
		defer p.leave()
		box.run(inv)
		p.put(box)
	}()
	select {
	case <-inv.begun:
		return inv.reply, inv.failed
	case <-ctx.Done():
		go inv.discard()
		return nil, ctx.Err()
	}
}

// discard waits for an answer that nobody wants any more.
func (inv *invocation) discard() {
	<-inv.begun
	if inv.reply != nil {
		_, _ = io.Copy(io.Discard, inv.reply.Body)
		_ = inv.reply.Body.Close()
	}
}

func (p *pool) leave() {
	if p.slots != nil {
		<-p.slots
	}
}

func (p *pool) take() (*sandbox, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	for len(p.free) > 0 {
		box := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		if box.lives() {
			return box, nil
		}
		delete(p.all, box)
	}
	box, err := startSandbox(p)
	if err != nil {
		return nil, err
	}
	p.service.counts.cold.Add(1)
	p.all[box] = true
	return box, nil
}

func (p *pool) put(box *sandbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !box.lives() || p.closed {
		box.kill()
		delete(p.all, box)
		return
	}
	p.free = append(p.free, box)
}

func (p *pool) killAll() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for box := range p.all {
		if box.lives() {
			n++
			p.service.counts.killed.Add(1)
			box.kill()
		}
	}
	p.free = nil
	return n
}

func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	boxes := p.all
	p.all, p.free = map[*sandbox]bool{}, nil
	p.mu.Unlock()
	for box := range boxes {
		box.kill()
		<-box.gone
	}
	return p.log.Close()
}
