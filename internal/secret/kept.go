package secret

import (
	"context"
	"maps"
	"strings"
	"sync"
)

// leastHidden is the minimum length of a value that is searched for in the results of servers that
// did not receive it: a shorter one may be an ordinary word.
const leastHidden = 8

// Kept remembers the values that a process was given, so that texts from outside can be searched
// for all of them. It is safe for concurrent use.
type Kept struct {
	source Source

	mu     sync.Mutex
	values Values
}

// Keep remembers what source finds from now on, and from the beginning the values of own:
// credentials of the process, by the names under which they are hidden.
func Keep(source Source, own Values) *Kept {
	k := &Kept{source: source, values: Values{}}
	for name, value := range own {
		k.keep(name, value)
	}
	return k
}

// OfEnvironment returns the secrets in the environment of a process, given as by [os.Environ]:
// those that definitions can name, and the AWS credentials.
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

// Source finds what the kept source finds, and remembers it.
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

// Values returns all remembered values, the newest of each name, except for short ones.
func (k *Kept) Values() Values {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.values)
}
