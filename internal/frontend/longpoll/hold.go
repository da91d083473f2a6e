package longpoll

import (
	"context"
	"time"
)

// Hold pays, piece by piece, for the time for which one read is held.
type Hold interface {
	// More returns for how much longer the read may be held; 0: it is answered now.
	More(ctx context.Context) time.Duration
	// Over is called once the read isn't held any more.
	Over()
}

type holdKey struct{}

// With has the reads of a request paid for by hold; nil: they cost nothing.
func With(ctx context.Context, hold Hold) context.Context {
	return context.WithValue(ctx, holdKey{}, hold)
}

// Of is what pays for the reads of a request; nil if nothing does.
func Of(ctx context.Context) Hold {
	hold, _ := ctx.Value(holdKey{}).(Hold)
	return hold
}

// free is a hold that costs nothing.
type free struct{}

func (free) More(context.Context) time.Duration { return time.Hour }

func (free) Over() {}

func paidBy(ctx context.Context) Hold {
	if hold := Of(ctx); hold != nil {
		return hold
	}
	return free{}
}
