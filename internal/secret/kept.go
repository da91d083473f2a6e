package secret

import (
	"context"
	"maps"
	"strings"
	"sync"
)

// leastHidden is how long a value must be to be looked for in the results of those it was not sent
// to: a shorter one may be a word.
const leastHidden = 8

// Kept remembers which values a process was given, so that what comes from outside can be looked
// through for all of them. Safe for concurrent use.
type Kept struct {
	source Source

	mu     sync.Mutex
	values Values
}

// Keep remembers what source finds from now on, and the values of own from the beginning:
// credentials of the process, by the names under which they are hidden.
func Keep(source Source, own Values) *Kept {
	k := &Kept{source: source, values: Values{}}
	for name, value := range own {
		k.keep(name, value)
	}
	return k
}

// OfEnvironment are the secrets in the environment of a process, given as [os.Environ] returns it:
// those that definitions can name, and the credentials of AWS.
func OfEnvironment(environ []string) Values {
	found := Values{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		short, named := strings.CutPrefix(name, Variable(""))
		if value != "" && (named || name == "AWS_SECRET_ACCESS_KEY" || name == "AWS_SESSION_TOKEN") {
			found[short] = value
		}
	}
	return found
}

// Source finds what the kept source finds.
func (k *Kept) Source(ctx context.Context, name string) (string, error) {
	value, err := k.source(ctx, name)
	if err == nil {
		k.keep(name, value)
	}
	return value, err
}

func (k *Kept) keep(name, value string) {
	if len(value) < leastHidden {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.values[name] = value
}

// Values are all that are remembered, the newest of each name; short ones are not among them.
func (k *Kept) Values() Values {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.values)
}
