// Package bounds holds callers to what they may have at once: starts, streams, bytes of answers and
// wrong guesses.
package bounds

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Guesses bound how often wrong tokens are tried by one link.
type Guesses struct {
	mu   sync.Mutex
	link map[string]*tries
}

// tries are those by one link: how many more may be wrong, and how many are being looked at.
type tries struct {
	left *rate.Limiter
	open int
}

// EveryGuess is the time that gives one more try.
const EveryGuess = time.Minute

const (
	mostGuesses = 10     // at once
	mostGuessed = 10_000 // links remembered; signatures bound them before
)

// NewGuesses knows of none.
func NewGuesses() *Guesses { return &Guesses{link: map[string]*tries{}} }

// Begin refuses another try after too many wrong ones. A try that is being looked at counts as
// wrong until done is called, so that requests at the same moment have no more tries than others.
func (g *Guesses) Begin(link string, now time.Time) (done func(wrong bool), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.link[link]
	if t == nil {
		if len(g.link) >= mostGuessed {
			clear(g.link)
		}
		t = &tries{left: rate.NewLimiter(rate.Every(EveryGuess), mostGuesses)}
		g.link[link] = t
	}
	if t.left.TokensAt(now)-float64(t.open) < 1 {
		return nil, false
	}
	t.open++
	return func(wrong bool) { g.end(link, t, wrong, now) }, true
}

func (g *Guesses) end(link string, t *tries, wrong bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.open--
	switch {
	case wrong:
		t.left.AllowN(now, 1)
	case t.open == 0 && g.link[link] == t && t.left.TokensAt(now) >= mostGuesses:
		delete(g.link, link) // nothing to remember
	}
}
