package frontend

import (
	"context"
	"errors"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/frontend/storecall"
)

// key is the record that a request on a thread was done; nil without a key.
func (f *Frontend) key(c Caller, key, record, run, digest string) *engine.Key {
	if key == "" {
		return nil
	}
	return &engine.Key{Tenant: c.Tenant, Key: record, Run: run, Digest: digest, Expires: f.Clock.Now().Add(f.limits.KeyLife).UnixMilli()}
}

// known answers a request on a thread whose key was used before. It only reads, so that a request
// that is refused for another reason leaves nothing behind, no large input either; the store looks
// again when it writes.
func (f *Frontend) known(ctx context.Context, c Caller, b beginning) (s Started, known bool, err error) {
	if b.key == "" {
		return Started{}, false, nil
	}
	used, err := storecall.Try(ctx, f.Clock, func() (engine.Key, error) { return f.Store.Used(ctx, c.Tenant, b.record) })
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return Started{}, false, nil
	case err != nil:
		return Started{}, false, err
	}
	s, err = f.keyTaken(ctx, c, used, b.digest)
	return s, true, err
}

func (f *Frontend) keyTaken(ctx context.Context, c Caller, k engine.Key, digest string) (Started, error) {
	if k.Digest != digest {
		return Started{}, keyMismatch(k.Key)
	}
	return f.recorded(ctx, c, k.Run)
}
