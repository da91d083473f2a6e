package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse/internal/aws/awsstep"
)

// conversation is what a run has come to before a process continues it.
type conversation struct {
	name           string
	steps, perStep int // bytes of the result of each step
}

var conversations = []conversation{{"10 KB", 5, 2_000}, {"100 KB", 20, 5_000}, {"1 MB", 40, 25_000}, {"4 MB", 40, 100_000}}

// sizes are those of functions, in MB.
var sizes = []int{128, 256, 512}

const (
	// more is how many steps a process makes
	more = 6
	// vCPU is the memory at which a function has one, in MB
	vCPU = 1769
	// answerTime is how long a model takes in the estimate of what a run costs
	answerTime = 3 * time.Second
	// perGBSecond and perRequest are list prices of Lambda on arm64 in us-east-1, in dollars
	perGBSecond, perRequest = 0.0000133334, 0.0000002
)

// remember prints how much memory and time steps take.
func remember(ctx context.Context, out io.Writer, w *world, dir string) error {
	binary, err := build(ctx, module+"/functions/step", dir)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%-14s%10s%12s%26s%26s%20s\n", "conversation", "function", "peak, MB", "first step, ms (CPU)", "later steps, ms (CPU)", "10 steps, Lambda"); err != nil {
		return err
	}
	for _, c := range conversations {
		for _, mb := range sizes {
			s, err := w.steps(ctx, binary, c, mb)
			if err != nil {
				return fmt.Errorf("%s with %d MB: %w", c.name, mb, err)
			}
			seconds := 10 * (answerTime.Seconds() + s.later.wall.Seconds())
			price := seconds*float64(mb)/1024*perGBSecond + 10*perRequest
			if _, err := fmt.Fprintf(out, "%-14s%7d MB%12.0f%26s%26s%20s\n", c.name, mb, float64(s.peak)/1e6, s.first, s.later, fmt.Sprintf("$%.5f", price)); err != nil {
				return err
			}
		}
	}
	return nil
}

// spent is the time of a step, apart from what the model takes.
type spent struct{ wall, cpu time.Duration }

func (s spent) String() string {
	return fmt.Sprintf("%d (%d)", s.wall.Milliseconds(), s.cpu.Milliseconds())
}

// measured is what the steps of one process took.
type measured struct {
	first, later spent // the median of the later ones
	peak         int64
}

// steps lets a fresh process continue a conversation, with the share of a CPU that a function of
// that size has.
func (w *world) steps(ctx context.Context, binary string, c conversation, mb int) (m measured, err error) {
	event, err := w.grow(ctx, c)
	if err != nil {
		return m, err
	}
	defer w.drain(ctx)
	env := w.environment()
	env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = fmt.Sprint(mb)
	env["GOMEMLIMIT"] = fmt.Sprintf("%dMiB", mb*4/5)
	share, err := limit(float64(mb) / vCPU)
	if err != nil {
		return m, err
	}
	defer share.remove()
	p, err := launch(ctx, binary, env, event, share)
	if err != nil {
		return m, err
	}
	defer p.end()
	var walls, cpus []float64
	from, used := p.began, time.Duration(0)
	for n := range more {
		at, err := p.wait(ctx)
		if err != nil {
			return m, fmt.Errorf("%w\n%s", err, p.log.String())
		}
		cpu := p.cpu()
		took := spent{at.Sub(from), cpu - used}
		if n == 0 {
			m.first = took
		} else {
			walls, cpus = append(walls, float64(took.wall)), append(cpus, float64(took.cpu))
		}
		if event, err = w.next(ctx); err != nil {
			return m, err
		}
		from, used = time.Now(), p.cpu()
		p.events <- event
	}
	if _, err := p.wait(ctx); err != nil {
		return m, err
	}
	m.peak = p.peak()
	m.later = spent{time.Duration(quantile(walls, 2)), time.Duration(quantile(cpus, 2))}
	return m, nil
}

// grow makes a conversation in this process, and returns the event of its next wake-up.
func (w *world) grow(ctx context.Context, c conversation) ([]byte, error) {
	w.say(text(c.perStep))
	event, err := w.start(ctx)
	handle := awsstep.New(w.parts, func() float64 { return 0 }).Handle
	for n := 0; n < c.steps && err == nil; n++ {
		var e events.SQSEvent
		if err = json.Unmarshal(event, &e); err != nil {
			return nil, err
		}
		if _, err = handle(ctx, e); err != nil {
			return nil, err
		}
		if event, err = w.next(ctx); err != nil {
			return nil, fmt.Errorf("after step %d: %w", n+1, err)
		}
	}
	return event, err
}

// text is so many bytes of words.
func text(bytes int) string {
	random := rand.New(rand.NewPCG(1, uint64(bytes)))
	words := strings.Fields("order refund customer parcel shipped delivered returned invoice total euro address street city carrier tracking number " +
		"warehouse item quantity price discount paid pending cancelled note agent asked that the was not yet and it will be tomorrow because of")
	var b strings.Builder
	for b.Len() < bytes {
		if random.IntN(5) == 0 {
			fmt.Fprintf(&b, "%d ", random.IntN(1_000_000))
		}
		b.WriteString(words[random.IntN(len(words))] + " ")
	}
	return b.String()[:bytes]
}
