package torture

import (
	"sync"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Promises is what callers were told. The zero value is empty; the methods are safe for concurrent
// use, the fields are for reading once nobody writes any more.
type Promises struct {
	mu        sync.Mutex
	Starts    []Start     `json:"starts"`
	Messages  []Message   `json:"messages"`
	Decisions []Decision  `json:"decisions"`
	Cancels   []Cancel    `json:"cancels"`
	Broken    []Violation `json:"broken,omitempty"` // what an answer itself gave away
}

// Start is a run that was answered for, and the key it was asked for with.
type Start struct {
	Caller  int               `json:"caller"`
	Key     string            `json:"key"`
	Request wire.StartRequest `json:"request"`
	Text    string            `json:"text"` // of the input
	Run     string            `json:"run"`
	Thread  string            `json:"thread"`
}

// Message is one that somebody sent. Refusal is the code it was refused with; "" if it was
// accepted.
type Message struct {
	Caller  int    `json:"caller"`
	Thread  string `json:"thread"`
	Text    string `json:"text"`
	Refusal string `json:"refusal,omitempty"`
}

// Decision is an answer to a call that was shown as Shown. It was accepted as the first one, or
// refused; Winner is then the id of the decision that was said to be first, if one was.
type Decision struct {
	Caller  int          `json:"caller"`
	Run     string       `json:"run"`
	Shown   wire.Pending `json:"shown"`
	Refusal string       `json:"refusal,omitempty"`
	Winner  string       `json:"winner,omitempty"`
	wire.Decision
}

// Cancel is a run that somebody wanted to end.
type Cancel struct {
	Caller   int    `json:"caller"`
	Run      string `json:"run"`
	Accepted bool   `json:"accepted"`
}

func note[T any](p *Promises, to *[]T, v T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*to = append(*to, v)
}

// Count is how much was acknowledged.
type Count struct {
	Runs      int `json:"runs"`
	Decisions int `json:"decisions"`
	Messages  int `json:"messages"`
	Cancels   int `json:"cancels"`
}

// Count counts what was acknowledged so far. A start that was repeated counts once.
func (p *Promises) Count() (n Count) {
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := map[string]bool{}
	for _, s := range p.Starts {
		keys[s.Key] = true
	}
	n.Runs = len(keys)
	n.Decisions = count(p.Decisions, func(d Decision) bool { return d.Refusal == "" })
	n.Messages = count(p.Messages, func(m Message) bool { return m.Refusal == "" })
	n.Cancels = count(p.Cancels, func(c Cancel) bool { return c.Accepted })
	return n
}

func count[T any](all []T, counts func(T) bool) (n int) {
	for _, v := range all {
		if counts(v) {
			n++
		}
	}
	return n
}
