package cli

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// How often progress is told: where a line can be rewritten, and where every line stays.
const (
	rewriteEvery = 100 * time.Millisecond
	lineEvery    = 10 * time.Second
)

// progress tells a person how far long work is, at what rate, and how long it will take. On a terminal it is one line that is written
// again and again, elsewhere a line every ten seconds. A nil progress tells nothing. It is safe for concurrent use.
type progress struct {
	w       io.Writer
	rewrite bool
	width   int    // of the terminal; 0 is unknown
	unit    string // what is counted, in the plural; "" if that is plain
	now     func() time.Time

	mu    sync.Mutex
	began time.Time
	told  time.Time
	whole bool // all of it was told to be done
	open  bool // a line stands that the next one takes the place of
}

// newProgress begins to count time. Nothing is said before [progress.at].
func newProgress(w io.Writer, rewrite bool, width int, now func() time.Time) *progress {
	began := now()
	p := &progress{w: w, rewrite: rewrite, width: width, now: now, began: began, told: began}
	if rewrite {
		p.told = time.Time{} // the first line comes at once
	}
	return p
}

// progress is one for work that this invocation does, on standard error; nil with --json.
func (a *app) progress() *progress {
	if a.json {
		return nil
	}
	s := screenOf(a.stderr, a.opts.Getenv)
	return newProgress(a.stderr, s.terminal && !s.dumb, s.width, a.opts.Now)
}

// at says that so much of total is done; a total of 0 is unknown. more stands behind it. It may be called as often as wanted.
func (p *progress) at(done, total int, more string) {
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
	p.show(progressLine(done, total, p.unit, now.Sub(p.began), more))
}

func (p *progress) show(line string) {
	line = clean(line)
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

// end leaves the terminal at the start of a line. Call it before anything else is printed, also when the work failed.
func (p *progress) end() {
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

// progressLine is "1,204 of 10,000 · 310/s · 28 s left". The rate is that of the whole way, so the time left does not jump.
func progressLine(done, total int, unit string, took time.Duration, more string) string {
	line := thousands(done)
	if total > 0 {
		line += " of " + thousands(total)
	}
	if unit != "" {
		line += " " + unit
	}
	if rate := float64(done) / took.Seconds(); took >= time.Second && done > 0 {
		line += " · " + perSecond(rate)
		if done < total {
			line += " · " + lasting(time.Duration(float64(total-done)/rate*float64(time.Second))) + " left"
		}
	}
	if done == total && total > 0 {
		line += " · took " + lasting(took)
	}
	if more != "" {
		line += " · " + more
	}
	return line
}

func perSecond(rate float64) string {
	if rate < 10 {
		return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
	}
	return thousands(int(rate+0.5)) + "/s"
}

// lasting is a duration in the two largest units that say something: "28 s", "1h 50m", "3d 4h".
func lasting(d time.Duration) string {
	seconds := int64(d.Round(time.Second) / time.Second)
	switch minutes, hours, days := seconds/60, seconds/3600, seconds/86400; {
	case seconds < 60:
		return fmt.Sprintf("%d s", max(seconds, 0))
	case hours < 1:
		return fmt.Sprintf("%dm %02ds", minutes, seconds%60)
	case days < 1:
		return fmt.Sprintf("%dh %02dm", hours, minutes%60)
	default:
		return fmt.Sprintf("%dd %dh", days, hours%24)
	}
}

// thousands writes a number with commas.
func thousands(n int) string {
	text, sign := strconv.Itoa(n), ""
	if n < 0 {
		text, sign = text[1:], "-"
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}
