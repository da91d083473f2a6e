// Package secret finds secrets by their names, and takes their values out of texts. A definition
// names a secret and never holds its value; a value is looked up where it is needed, and goes into
// the request that needs it and nowhere else: not into an error, a log, a result or the journal.
// Where values are kept is a [Source]'s to know. This package keeps them in no file, and does not
// say who may use which.
package secret

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Source looks up a secret. [ErrNotSet] if there is none of that name, or an empty one; any other
// error says that it cannot be told now. No error holds a value. Safe for concurrent use; it
// returns soon after ctx ends.
type Source func(ctx context.Context, name string) (string, error)

// ErrNotSet: there is no secret of that name.
var ErrNotSet = errors.New("secret: not set")

// Variable is the environment variable that holds a secret.
func Variable(name string) string { return "DORMOUSE_SECRET_" + name }

// Environment finds secrets in environment variables, see [Variable]. It looks anew each time.
func Environment(getenv func(string) string) Source {
	return func(_ context.Context, name string) (string, error) {
		if value := getenv(Variable(name)); value != "" {
			return value, nil
		}
		return "", ErrNotSet
	}
}

// Or asks next for what s does not have. What s cannot tell now is an error, and next is not asked:
// it may have another value.
func (s Source) Or(next Source) Source {
	return func(ctx context.Context, name string) (string, error) {
		value, err := s(ctx, name)
		if errors.Is(err, ErrNotSet) {
			return next(ctx, name)
		}
		return value, err
	}
}

// Values are secrets by their names. None is empty.
type Values map[string]string

// Values looks up several secrets, each a single line of plain ASCII, as a header can hold it. The
// error of one that is not there, cannot be told now or is no such line names it and may be shown
// to callers. It is an [ErrNotSet] in the first case, and an [ErrUnavailable] in the second; then
// the same names may be asked for again later.
func (s Source) Values(ctx context.Context, names []string) (Values, error) {
	found := Values{}
	for _, name := range names {
		value, err := s(ctx, name)
		switch {
		case err == nil && value == "", errors.Is(err, ErrNotSet):
			return nil, &lookupError{ErrNotSet, fmt.Sprintf("the secret %s is not set where the agents are served", name)}
		case err != nil:
			return nil, &lookupError{errors.Join(ErrUnavailable, err), fmt.Sprintf("the secret %s could not be looked up now; it may be there in a while", name)}
		case !plain(value):
			return nil, fmt.Errorf("the secret %s cannot be sent: it holds a line break, or is no plain ASCII text", name)
		}
		found[name] = value
	}
	return found, nil
}

// ErrUnavailable: whether there is such a secret, and its value, cannot be told now.
var ErrUnavailable = errors.New("secret: it cannot be told now")

// lookupError shows its text alone; what the source said is for the log.
type lookupError struct {
	cause error
	text  string
}

func (e *lookupError) Error() string { return e.text }
func (e *lookupError) Unwrap() error { return e.cause }

// plain says whether text can stand in a header: one line of ASCII that shows.
func plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
