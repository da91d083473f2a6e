// Package secret looks up secrets by name and removes their values from texts. A definition names a
// secret and never contains its value. A value is looked up where it is needed and goes only into
// the request that needs it: never into an error, a log, a result or the journal. A [Source] knows
// where values are stored. This package stores them in no file, and does not decide who may use
// which one.
package secret

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Source looks up a secret. It returns [ErrNotSet] if no secret has that name or its value is
// empty; any other error means that the lookup failed and may succeed later. No error contains a
// value. A source is safe for concurrent use and returns soon after ctx ends.
type Source func(ctx context.Context, name string) (string, error)

// ErrNotSet reports that no secret has that name.
var ErrNotSet = errors.New("secret: not set")

// Variable returns the name of the environment variable for a secret.
func Variable(name string) string { return "DORMOUSE_SECRET_" + name }

// Environment finds secrets in environment variables, see [Variable]. It reads them each time.
func Environment(getenv func(string) string) Source {
	return func(_ context.Context, name string) (string, error) {
		if value := getenv(Variable(name)); value != "" {
			return value, nil
		}
		return "", ErrNotSet
	}
}

// Or asks next for secrets that s does not have. If a lookup in s fails, that is an error and next
// is not asked, because it may have another value.
func (s Source) Or(next Source) Source {
	return func(ctx context.Context, name string) (string, error) {
		value, err := s(ctx, name)
		if errors.Is(err, ErrNotSet) {
			return next(ctx, name)
		}
		return value, err
	}
}

// Values maps the names of secrets to their values, none of which is empty.
type Values map[string]string

// Values looks up several secrets; each must be one line of printable ASCII, so that a header can
// contain it. If one is missing, cannot be looked up or is not such a line, the error names it and
// may be shown to callers. It is an [ErrNotSet] in the first case and an [ErrUnavailable] in the
// second, in which a later attempt may succeed.
func (s Source) Values(ctx context.Context, names []string) (Values, error) {
	found := Values{}
	for _, name := range names {
		value, err := s(ctx, name)
		switch {
		case err == nil && value == "", errors.Is(err, ErrNotSet):
			return nil, &lookupError{ErrNotSet, fmt.Sprintf("the secret %s is not set on the agents' server", name)}
		case err != nil:
			return nil, &lookupError{errors.Join(ErrUnavailable, err), fmt.Sprintf("the lookup of the secret %s failed; try again later", name)}
		case !plain(value):
			return nil, fmt.Errorf("the secret %s cannot be sent because it is not one line of printable ASCII", name)
		}
		found[name] = value
	}
	return found, nil
}

// ErrUnavailable reports that the lookup of a secret failed, and may succeed later.
var ErrUnavailable = errors.New("secret: the lookup failed")

// lookupError shows only its text; the error of the source is for the log.
type lookupError struct {
	cause error
	text  string
}

func (e *lookupError) Error() string { return e.text }
func (e *lookupError) Unwrap() error { return e.cause }

// plain reports whether text fits into a header: one line of printable ASCII.
func plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
