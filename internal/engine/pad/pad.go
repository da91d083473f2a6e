// Package pad has what bodies and hooks read and write beside their results: the shared state, and
// what a call keeps for itself.
package pad

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Pad is the shared state as one body or hook sees it: what was there when it began, and what it
// wrote itself. Its writes take effect with its result, all or none; of a body or hook that fails,
// none. Safe for concurrent use. The nil Pad is empty and drops writes.
type Pad struct {
	mu    sync.Mutex
	state core.State
	ops   []core.StateOp
}

// New begins with a state.
func New(s core.State) *Pad { return &Pad{state: s.Clone()} }

// Get returns the JSON value of a key, nil if it has none.
func (p *Pad) Get(scope core.Scope, key string) json.RawMessage {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.Get(scope, key)
}

// Set writes a value. No other writer may write the key at the same time. It fails if the value has
// no JSON form.
func (p *Pad) Set(scope core.Scope, key string, value any) error {
	raw, err := core.EncodeAny(value)
	if err == nil {
		p.write(core.StateOp{Scope: scope, Key: key, Op: core.StateSet, Value: raw})
	}
	return err
}

// Delete removes a key. No other writer may write it at the same time.
func (p *Pad) Delete(scope core.Scope, key string) {
	p.write(core.StateOp{Scope: scope, Key: key, Op: core.StateDelete})
}

// Add adds n to a number; others may add to it at the same time.
func (p *Pad) Add(scope core.Scope, key string, n int64) {
	p.write(core.StateOp{Scope: scope, Key: key, Op: core.StateAdd, Value: json.RawMessage(strconv.FormatInt(n, 10))})
}

// Insert adds a text to a set; others may do so at the same time.
func (p *Pad) Insert(scope core.Scope, key, text string) {
	p.write(core.StateOp{Scope: scope, Key: key, Op: core.StateInsert, Value: core.Encode(text)})
}

func (p *Pad) write(op core.StateOp) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = p.state.Apply([]core.StateOp{op})
	p.ops = append(p.ops, op)
}

// Ops are the writes so far, in order.
func (p *Pad) Ops() []core.StateOp {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]core.StateOp(nil), p.ops...)
}
