package bounds

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi/problems"
	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// Buckets has a bucket of tokens for each tenant and kind.
type Buckets interface {
	// Take takes n tokens. If there are fewer, it takes none, and wait is how long to wait
	// before asking again. After an error nothing is known of the bucket.
	Take(ctx context.Context, kind pace.Kind, tenant string, r pace.Rate, n int, now time.Time) (wait time.Duration, err error)
}

// Rates are those of each tenant, by kind. A kind without one has no limit.
type Rates map[pace.Kind]pace.Rate

// Paces hold each tenant to its rates.
type Paces struct {
	Rates   Rates
	Buckets Buckets
	Log     *slog.Logger
}

// NewPaces holds tenants to the rates, and to that of starts unless it is 0.
func NewPaces(rates Rates, startsPerSecond float64, b Buckets, log *slog.Logger) Paces {
	p := Paces{Rates: Rates{pace.Starts: pace.PerSecond(startsPerSecond, 0)}, Buckets: b, Log: log}
	maps.Copy(p.Rates, rates)
	if log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return p
}

// refusals are what callers read, by kind.
var refusals = map[pace.Kind]struct {
	code   refusal.Code
	detail string
}{
	pace.Starts:    {problems.CodeRateLimited, "the tenant exceeds its rate of requests that start work; nothing was stored, so send the same request again after Retry-After"},
	pace.Decisions: {problems.CodeRateLimited, "the tenant exceeds its rate of decisions; nothing was stored, so send the same decision again after Retry-After"},
	pace.Streams:   {problems.CodeTooManyStreams, "the tenant opens event streams too often; open it again after Retry-After, or read pages"},
}

// Admit counts a request, or refuses it. A decision is refused only if its bucket says so: one
// whose bucket doesn't answer is admitted. Other requests then get the bucket's error.
func (p *Paces) Admit(ctx context.Context, kind pace.Kind, tenant string, now time.Time) error {
	return p.admit(ctx, kind, tenant, 1, now)
}

// AdmitMore counts what a request has beside the one for which it was admitted: at most half of a
// full bucket, so that large requests are admitted, too.
func (p *Paces) AdmitMore(ctx context.Context, kind pace.Kind, tenant string, n int, now time.Time) error {
	return p.admit(ctx, kind, tenant, min(n, p.Rates[kind].Burst/2), now)
}

func (p *Paces) admit(ctx context.Context, kind pace.Kind, tenant string, n int, now time.Time) error {
	r := p.Rates[kind]
	if !r.Limits() || n <= 0 {
		return nil
	}
	wait, err := p.Buckets.Take(ctx, kind, tenant, r, n, now)
	switch {
	case err != nil && kind == pace.Decisions && ctx.Err() == nil:
		p.Log.WarnContext(ctx, "decisions are not limited, because their rate can't be counted", "tenant", tenant, "error", err)
		return nil
	case err != nil:
		return err
	case wait > 0:
		return &refusal.Error{Code: refusals[kind].code, RetryAfter: wait, Detail: refusals[kind].detail}
	}
	return nil
}

// Memory has the buckets of one process. Tenants are few and come from the keys, so that they are
// kept.
type Memory struct {
	mu   sync.Mutex
	full map[of]time.Time
}

type of struct {
	kind   pace.Kind
	tenant string
}

// NewMemory has full buckets.
func NewMemory() *Memory { return &Memory{full: map[of]time.Time{}} }

// Take implements [Buckets].
func (m *Memory) Take(_ context.Context, kind pace.Kind, tenant string, r pace.Rate, n int, now time.Time) (wait time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := of{kind, tenant}
	full := m.full[at]
	after, ok := r.Take(full, now, n)
	if !ok {
		return r.Wait(full, now, n), nil
	}
	m.full[at] = after
	return 0, nil
}
