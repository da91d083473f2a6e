package frontend

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Retry starts a run that continues from the journal of one that ended in error, with fresh budgets
// and the newest version of the agent. What the first run was started with still applies. A run is
// retried once only, even by different callers: without a key, the run's id is the idempotency key.
//
// The checks have an order: it returns the run that the key already started;
// [refusal.CodeRunSuperseded] if the thread has a newer run; [refusal.CodeRunOpen] while the run is
// open; [refusal.CodeNotFailed] unless the run ended in error or by a stop rule.
func (f *Frontend) Retry(ctx context.Context, c Caller, run, key string) (Started, error) {
	if err := readKey(key); err != nil {
		return Started{}, err
	}
	p, err := f.Find(ctx, c.Tenant, run)
	if err != nil {
		return Started{}, err
	}
	b, err := f.readRetry(run, key)
	if err != nil {
		return Started{}, err
	}
	for range lostRaces {
		if s, known, err := f.known(ctx, c, b); known || err != nil {
			return s, err
		}
		if err := cannotRetry(p); err != nil {
			return Started{}, err
		}
		b.metadata, b.narrow, b.noMemory, b.notify = p.Head.Metadata, p.Head.Narrow, p.Head.NoMemory, p.Head.Notify
		if b.given, err = f.giveAgain(ctx, c.Tenant, p.Record); err != nil {
			return Started{}, err
		}
		s, _, err := f.follow(ctx, c, p.Head, b)
		if !errors.Is(err, errMoved) {
			return s, err
		}
		if p, err = f.Find(ctx, c.Tenant, run); err != nil {
			return Started{}, err
		}
	}
	return Started{}, refusal.Contended()
}

// readRetry is a start without an input: the journal has it.
func (f *Frontend) readRetry(run, key string) (beginning, error) {
	record := "retry:key:" + key
	if key == "" {
		key = run
		record = "retry:of:" + run
	}
	b := beginning{key: key, record: record, nonce: f.Random.Text(16), parts: json.RawMessage("null"), retryOf: run}
	var err error
	b.digest, err = digest(map[string]string{"retry_of": run})
	return b, err
}

// cannotRetry says why the run cannot be retried; nil if it can.
func cannotRetry(p journal.Place) error {
	if err := childThread(p.Head); err != nil {
		return err
	}
	switch {
	case !p.Current:
		return refusal.New(refusal.CodeRunSuperseded, "the thread has a newer run; only the newest can be retried")
	case p.Head.Open():
		return runOpen(p.Head.Run, "the run is still open; only a run that is done can be retried")
	case p.Head.End == nil || p.Head.End.Kind != core.Failed && p.Head.End.Kind != core.Stopped:
		return refusal.New(refusal.CodeNotFailed, "only a run that failed or was stopped by a rule can be retried; start a new one")
	}
	return nil
}
