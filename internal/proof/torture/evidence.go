package torture

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

// Evidence is what the server shows once the faults have stopped.
type Evidence struct {
	Threads map[string]Thread `json:"threads"` // by id: those that promises are about
	// by key: the run that the start was answered with when it was sent once more
	Again map[string]string `json:"again"`

	// Listed is how often the list of all runs names each; nil if others use the server, too.
	Listed map[string]int `json:"listed,omitempty"`

	// Effects are the marks of the tools, for a server with our own agents; HasEffects says
	// that they were looked for.
	Effects    []Effect `json:"effects,omitempty"`
	HasEffects bool     `json:"has_effects"`

	// Notices are what arrived at the service of a server of our own, in order; HasNotices says
	// that they were looked for.
	Notices    []Arrival `json:"notices,omitempty"`
	HasNotices bool      `json:"has_notices"`

	// Gated are tools that must not run without a decision, by agent, where that is known
	// beforehand.
	Gated map[string]string `json:"gated,omitempty"`

	// Own: the agents are known to end in no way but a natural end or a cancel.
	Own bool `json:"own"`
}

// Thread is a conversation and its runs.
type Thread struct {
	Runs     []RunLog       `json:"runs"` // oldest first
	Messages []wire.Message `json:"messages"`
	// the call that its only run works for; nil unless an agent called it
	Parent *ParentCall `json:"parent,omitempty"`
}

// RunLog is a run and its events.
type RunLog struct {
	wire.Run
	Events []wire.Event `json:"events"`
}

// run looks for a run of a thread.
func (t Thread) run(id string) (RunLog, bool) {
	for _, r := range t.Runs {
		if r.ID == id {
			return r, true
		}
	}
	return RunLog{}, false
}

const pageSize = 100

// look reads everything that the promises are about, some threads at a time. What the server does
// not know is left out; the check will miss it. A server that does not answer for longer than
// patience is an error.
func (w *world) look(ctx context.Context, readers int, patience time.Duration) (Evidence, error) {
	found := Evidence{Threads: map[string]Thread{}, Again: map[string]string{}, Own: w.own}
	starts := firstOfEach(w.kept.Starts)
	var mu sync.Mutex
	err := inParallel(ctx, readers, starts, func(ctx context.Context, s Start) error {
		thread, again, err := w.lookAt(ctx, s, patience)
		if err != nil {
			return fmt.Errorf("looking at %s: %w", s.Thread, err)
		}
		below, err := w.lookBelow(ctx, thread, patience)
		if err != nil {
			return fmt.Errorf("looking below %s: %w", s.Thread, err)
		}
		mu.Lock()
		defer mu.Unlock()
		found.Threads[s.Thread], found.Again[s.Key] = thread, again
		maps.Copy(found.Threads, below)
		return nil
	})
	if err != nil {
		return found, err
	}
	if w.own {
		found.Gated = ownGated
		if found.Listed, err = w.list(ctx, found.Threads); err != nil {
			return found, fmt.Errorf("listing the runs: %w", err)
		}
	}
	if w.ledger != "" && w.own {
		found.HasEffects = true
		found.Effects, err = ReadLedger(w.ledger)
	}
	return found, err
}

func firstOfEach(starts []Start) (firsts []Start) {
	seen := map[string]bool{}
	for _, s := range starts {
		if !seen[s.Key] {
			seen[s.Key] = true
			firsts = append(firsts, s)
		}
	}
	return firsts
}

// inParallel does something with each of the things, n at a time, until one fails.
func inParallel[T any](ctx context.Context, n int, things []T, do func(context.Context, T) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan T)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for thing := range next {
				if err := do(ctx, thing); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, thing := range things {
		select {
		case next <- thing:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// lookAt reads a thread, and what its start comes to when it is sent once more.
func (w *world) lookAt(ctx context.Context, s Start, patience time.Duration) (t Thread, again string, err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if t, err = w.readThread(ctx, s.Thread); err != nil {
		return t, "", err
	}
	// Last: a start that was lost begins anew under the same id.
	run, err := ask(ctx, w.door, func(api *client.Client) (wire.Run, error) { return api.StartRun(ctx, s.Request, s.Key) })
	code, _, err := refusal(err)
	return t, cmp.Or(run.ID, code), err
}

func (w *world) readThread(ctx context.Context, id string) (t Thread, err error) {
	runs, err := pages(ctx, w.door, func(api *client.Client, cursor string) (wire.Page[wire.Run], error) {
		return api.ThreadRunPage(ctx, id, client.RunFilter{Limit: pageSize, Cursor: cursor})
	})
	if err != nil {
		return t, err
	}
	slices.Reverse(runs)
	for _, listed := range runs {
		run, there, err := w.readRun(ctx, listed.ID)
		if err != nil {
			return t, err
		}
		if there {
			t.Runs = append(t.Runs, run)
		}
	}
	t.Messages, err = pages(ctx, w.door, func(api *client.Client, cursor string) (wire.Page[wire.Message], error) {
		return api.MessagePage(ctx, id, client.MessageOptions{Limit: pageSize, Cursor: cursor})
	})
	return t, err
}

func (w *world) readRun(ctx context.Context, id string) (r RunLog, there bool, err error) {
	r.Run, err = ask(ctx, w.door, func(api *client.Client) (wire.Run, error) { return api.Run(ctx, id) })
	if code, _, err := refusal(err); code != "" || err != nil {
		return r, false, err
	}
	for after := ""; ; {
		page, err := ask(ctx, w.door, func(api *client.Client) (wire.EventPage, error) {
			return api.EventPage(ctx, id, client.EventQuery{After: after, Limit: pageSize})
		})
		if code, _, err := refusal(err); code != "" || err != nil {
			return r, true, err
		}
		r.Events = append(r.Events, page.Items...)
		if page.Done || len(page.Items) == 0 {
			return r, true, nil
		}
		after = page.Next
	}
}

// list counts every run that the server names. Of a server that others use, too, those of threads
// that nobody here began are theirs.
func (w *world) list(ctx context.Context, ours map[string]Thread) (map[string]int, error) {
	runs, err := pages(ctx, w.door, func(api *client.Client, cursor string) (wire.Page[wire.Run], error) {
		return api.RunPage(ctx, client.RunFilter{Limit: pageSize, Cursor: cursor})
	})
	listed := map[string]int{}
	for _, run := range runs {
		if _, known := ours[run.ThreadID]; known || !w.shared {
			listed[run.ID]++
		}
	}
	return listed, err
}

// pages reads a list to its end. A list of something that is not there is empty.
func pages[T any](ctx context.Context, d *door, read func(api *client.Client, cursor string) (wire.Page[T], error)) (all []T, err error) {
	for cursor := ""; ; {
		page, err := ask(ctx, d, func(api *client.Client) (wire.Page[T], error) { return read(api, cursor) })
		code, _, err := refusal(err)
		if code != "" || err != nil {
			return all, err
		}
		all = append(all, page.Items...)
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}
