package display

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"
)

// How often progress is printed: where a line can be rewritten, and where every line stays.
const (
	rewriteEvery = 100 * time.Millisecond
	lineEvery    = 10 * time.Second
)

// Progress tells a person how far long work is, at what rate, and how long it will take. On a
// terminal it is one line that is written again and again, elsewhere a line every ten seconds. A
// nil progress tells nothing. It is safe for concurrent use.
type Progress struct {
	w       io.Writer
	rewrite bool
	width   int    // of the terminal; 0 is unknown
	Unit    string // what is counted, in the plural; "" if that is plain
	now     func() time.Time

	mu    sync.Mutex
	began time.Time
	told  time.Time
	whole bool // it has printed that all work is done
	open  bool // the last line will be overwritten
}

// NewProgress begins to count time. Nothing is said before [progress.at].
func NewProgress(w io.Writer, rewrite bool, width int, now func() time.Time) *Progress {
	began := now()
	p := &Progress{w: w, rewrite: rewrite, width: width, now: now, began: began, told: began}
	if rewrite {
		p.told = time.Time{} // the first line comes at once
	}
	return p
}

// At says that so much of total is done; a total of 0 is unknown. more is appended. It may be
// called as often as wanted.
func (p *Progress) At(done, total int, more string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	every := lineEvery
	if p.rewrite {
		every = rewriteEvery
	}
	now := p.now()
	last := total > 0 && done >= total && !p.whole
	if now.Sub(p.told) < every && !last {
		return
	}
	p.told, p.whole = now, p.whole || last
	p.show(progressLine(done, total, p.Unit, now.Sub(p.began), more))
}

func (p *Progress) show(line string) {
	line = Clean(line)
	if !p.rewrite {
		fmt.Fprintln(p.w, line)
		return
	}
	if p.width > 0 {
		line = cut(line, p.width-1)
	}
	p.open = true
	fmt.Fprint(p.w, "\r"+line+"\x1b[K")
}

// End leaves the terminal at the start of a line. Call it before anything else is printed, also
// when the work failed.
func (p *Progress) End() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprintln(p.w)
	}
	p.open = false
}

// progressLine is "1,204 of 10,000 · 310/s · 28 s left". The rate is that of the whole way, so the
// time left does not jump.
func progressLine(done, total int, unit string, took time.Duration, more string) string {
	line := Thousands(done)
	if total > 0 {
		line += " of " + Thousands(total)
	}
	if unit != "" {
		line += " " + unit
	}
	if rate := float64(done) / took.Seconds(); took >= time.Second && done > 0 {
		line += " · " + perSecond(rate)
		if left := float64(total-done) / rate * float64(time.Second); left > 0 && left < math.MaxInt64 {
			line += " · " + Lasting(time.Duration(left)) + " left"
		}
	}
	if done == total && total > 0 {
		line += " · took " + Lasting(took)
	}
	if more != "" {
		line += " · " + more
	}
	return line
}
