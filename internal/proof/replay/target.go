package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// Target is a running server that has the agents of [WriteAgents].
type Target struct {
	Client  *client.Client
	Session string // makes the keys of this replay its own
	AtOnce  int    // conversations at the same time; 8 if zero
	// chance that a request is sent twice, or that its answer is thrown away and it is sent
	// again
	Faults float64
	// how long a server may not answer, or a run not move; 2 minutes if zero
	Silence time.Duration
}

// RunAgainst plays the conversations against the target over HTTP, and holds every transcript and
// every gated call to what was recorded and decided, as [Run] does. Faults of o, its deadlines and
// modes are not for it: they are in the hands of who runs the server. What was started with a key
// is started once, however often the same replay asks; another session starts anew.
//
// An error means that it could not be carried out: the server has not got the agents, or ctx ended.
func RunAgainst(ctx context.Context, t Target, o Options) (Report, error) {
	began := time.Now()
	all, not := scripts(o)
	r := &remote{o: o, t: t}
	r.report = Report{Conversations: len(all), Remote: Remote{Unplayed: not, TargetFaults: map[string]int{}}, Faults: map[string]int{}, Executions: map[int]int{}}
	if err := r.deployed(ctx, all); err != nil {
		return r.report, err
	}
	next := make(chan script)
	var wg sync.WaitGroup
	for range min(cmp.Or(t.AtOnce, 8), max(1, len(all))) {
		wg.Go(func() {
			for s := range next {
				r.visit(ctx, s)
			}
		})
	}
	for _, s := range all {
		next <- s
	}
	close(next)
	wg.Wait()
	slices.Sort(r.report.First)
	slices.Sort(r.report.FirstDeviating)
	r.report.Seconds = time.Since(began).Seconds()
	return r.report, ctx.Err()
}

// MissingError says which agents a target does not have.
type MissingError struct {
	Names []string
	Of    int
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("the server has not got %d of the %d agents, %s first; "+
		"write them with dormouse-proof replay FILE --agents-to DIR (and the same --limit) and serve them: "+
		"dormouse dev --agents DIR, or dormouse agents deploy DIR --table NAME", len(e.Names), e.Of, e.Names[0])
}

// firstContact is how long a server may take to answer at all: an address may simply be wrong.
const firstContact = 3 * time.Second

func (r *remote) deployed(ctx context.Context, all []script) error {
	served, err := insist(ctx, firstContact, func() ([]wire.Agent, error) { return r.t.Client.Agents(ctx) })
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, a := range served {
		there[a.Name] = true
	}
	missing := &MissingError{Of: len(all)}
	for _, s := range all {
		if !there[s.name] {
			missing.Names = append(missing.Names, s.name)
		}
	}
	if len(missing.Names) > 0 {
		return missing
	}
	return nil
}

// remote is a replay against a target. Visits write into the report under the lock.
type remote struct {
	o Options
	t Target

	mu     sync.Mutex
	report Report
}

func (r *remote) note(f func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.report)
}

// visit plays one conversation.
func (r *remote) visit(ctx context.Context, s script) {
	v := &visit{remote: r, script: s, results: s.conversation.Results(),
		rulings: map[string]*ruling{}, told: map[string]*tale{}, decided: map[string]bool{}}
	v.client = r.t.Client
	if r.t.Faults > 0 {
		v.client = r.t.Client.With(client.WithTransport(func(inner http.RoundTripper) http.RoundTripper {
			return newTwister(inner, r.t.Faults, r.o.Seed, s.name, func(kind string) {
				r.note(func(report *Report) { report.TargetFaults[kind]++ })
			})
		}))
	}
	if err := v.play(ctx); err != nil && ctx.Err() == nil {
		v.mismatch("%v", err)
	}
	r.note(func(report *Report) {
		report.Marks += s.marks
		report.done++
		if r.o.Progress != nil {
			r.o.Progress(report.done, report.Conversations)
		}
	})
}

func (v *visit) mismatch(format string, args ...any) {
	v.note(func(r *Report) { r.mismatch(v.script.conversation, fmt.Sprintf(format, args...)) })
}

// Pauses between two tries of a request that was not answered.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// insist sends a request until the server has answered it for good, the same one each time. A 5xx
// or a 429 is no answer, whoever says it: a gateway does when the function behind it was lost. It
// gives up after silence.
func insist[T any](ctx context.Context, silence time.Duration, request func() (T, error)) (T, error) {
	limit := time.Now().Add(silence)
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		answer, err := request()
		refused, isRefusal := errors.AsType[*client.Error](err)
		if err == nil || isRefusal && !refused.Unanswered() || time.Now().After(limit) {
			return answer, err
		}
		if err := machine.Sleep(ctx, wait); err != nil {
			return answer, err
		}
	}
}

func (r *remote) silence() time.Duration { return cmp.Or(r.t.Silence, 2*time.Minute) }

// openEnd says whether the recording has no last word of the assistant after the n-th user message.
func openEnd(c recording.Conversation, n int) bool {
	said, open := 0, false
	for _, m := range c.Messages {
		switch {
		case m.Role == "user":
			if said++; said > n {
				return open
			}
			open = said == n
		case said == n:
			open = m.Role != "assistant" || len(m.Calls) > 0
		}
	}
	return open
}

// fateOf is what becomes of a gated call; it hangs on the seed, the agent and the call.
func (v *visit) fateOf(call string) fate { return v.o.fate(v.script.name, call) }
