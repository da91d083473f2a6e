package access

import (
	"context"
	"errors"
	"time"
)

// LinkSource gives the keys that sign links and tickets, as they were at most so long ago. There is
// one key at least.
type LinkSource func(ctx context.Context, age time.Duration) (LinkKeys, error)

const (
	// KeysAge is how long a key that was taken away may still be good.
	KeysAge = time.Minute

	// newKeysAge is how soon a key is known that another server signs with already. Links that
	// are none have the keys read no more often.
	newKeysAge = 5 * time.Second
)

// OpenSigned opens a link, a ticket or a cookie. If no known key has signed it, it reads the keys
// again, since another server may already sign with a newer one:
//
//	a key is added      server A reads the keys and signs a link with the new one
//	                    server B has keys that are a minute old and gets the link
//	                    B reads the keys again and opens the link
//
// An error is that of open, or of the source. Without a source nothing is signed.
func OpenSigned[T any](ctx context.Context, keysOf LinkSource, open func(LinkKeys) (T, error)) (signed T, err error) {
	if keysOf == nil {
		return signed, ErrBadLink
	}
	for _, age := range []time.Duration{KeysAge, newKeysAge} {
		keys, err := keysOf(ctx, age)
		if err != nil {
			return signed, err
		}
		if signed, err = open(keys); !errors.Is(err, ErrBadLink) {
			return signed, err
		}
	}
	return signed, ErrBadLink
}
