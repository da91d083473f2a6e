package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/protocols"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// lookAgain is how long the tokens count as current after the file was read.
const lookAgain = time.Second

// tokens are the keys of a token file. The file is read again when it changes, so removing a token
// needs no restart. Safe for concurrent use.
type tokens struct {
	file  string
	add   string // the command that adds a token to it
	clock engine.Clock
	log   *slog.Logger

	// joined is called with each tenant of a file that was read again, unless it is nil.
	joined func(ctx context.Context, tenant string) error

	mu     sync.Mutex
	keys   access.Keys
	looked time.Time
	text   string
	away   bool // the last attempt to read the file failed
}

// scheme is that of the Authorization header that callers need; empty: none.
func (t *tokens) scheme() string {
	if t == nil {
		return ""
	}
	return protocols.Bearer
}

// openTokens reads the file. At startup, every line must be valid, and there must be a token.
func openTokens(o Options) (*tokens, error) {
	t := &tokens{file: o.TokensFile, clock: o.clock, log: o.Logger, add: o.command("tokens add NAME --file", o.TokensFile)}
	text, keys, err := ReadTokens(t.file)
	if err == nil && len(keys.Grants()) == 0 {
		err = fmt.Errorf("%s contains no token; create one with: %s", t.file, t.add)
	}
	t.keys, t.text, t.looked = keys, text, t.clock.Now()
	return t, err
}

// tenants returns the tenants of the tokens, and the tenant of callers without a token.
func (t *tokens) tenants() []string {
	if t == nil {
		return []string{access.Tenant}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(t.keys.Tenants(), access.Tenant)
}

// Find implements the port of the API. While the file cannot be read no caller is let in, and no
// caller learns that its token is wrong.
func (t *tokens) Find(ctx context.Context, token string) (access.Principal, bool, error) {
	return t.ask(ctx, func(k access.Keys) (access.Principal, bool) { return k.Find(token) })
}

// Named implements the port of the API, as Find does.
func (t *tokens) Named(ctx context.Context, name string) (access.Principal, bool, error) {
	return t.ask(ctx, func(k access.Keys) (access.Principal, bool) { return k.Named(name) })
}

// ask queries the keys that are in the file now.
func (t *tokens) ask(ctx context.Context, find func(access.Keys) (access.Principal, bool)) (access.Principal, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.clock.Now(); now.Sub(t.looked) >= lookAgain || now.Before(t.looked) {
		before := t.text
		if err := t.refresh(ctx); err != nil {
			t.away = true
			t.log.ErrorContext(ctx, "cannot read the token file; all callers are refused", "error", err)
			return access.Principal{}, false, errors.Join(engine.ErrUnavailable, err)
		}
		t.looked = now
		if t.away || t.text != before {
			t.away = false
			t.log.InfoContext(ctx, "reloaded the token file", "tokens", len(t.keys.Grants()))
		}
	}
	p, ok := find(t.keys)
	return p, ok, nil
}

// refresh reads the file again. The token of an invalid line is refused; the others count.
func (t *tokens) refresh(ctx context.Context) error {
	text, keys, err := ReadTokens(t.file)
	if err != nil && !errors.Is(err, access.ErrLines) {
		return err
	}
	if text == t.text {
		return nil
	}
	if err != nil {
		t.log.ErrorContext(ctx, "the token file has invalid lines; their tokens are refused", "error", err)
	}
	if len(keys.Grants()) == 0 { // perhaps an incomplete copy
		return fmt.Errorf("%s no longer contains a token; create one with: %s", t.file, t.add)
	}
	for _, tenant := range keys.Tenants() {
		if t.joined == nil {
			break
		}
		if err := t.joined(ctx, tenant); err != nil {
			return err
		}
	}
	t.keys, t.text = keys, text
	return nil
}
