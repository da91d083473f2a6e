package torture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Effect is a mark that a tool left outside of the system: one line of a ledger, a JSON object with
// the idempotency key of the execution and the arguments it ran with.
type Effect struct {
	Key       string          `json:"key"`
	Arguments json.RawMessage `json:"arguments"`
}

// Of is the run and the call that the key names.
func (e Effect) Of() (run, call string) {
	parts := strings.Split(e.Key, "/")
	if len(parts) != 3 {
		return e.Key, ""
	}
	return parts[0], parts[1]
}

// ReadLedger reads a file of effects. Of each line, "key" is the key and all other members are the
// arguments. A file that is not there has none, and a last line without its end is not written yet.
func ReadLedger(file string) (effects []Effect, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return effects, nil
		}
		e, err := readEffect(line)
		if err != nil {
			return effects, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		effects = append(effects, e)
		text = rest
	}
}

func readEffect(line []byte) (e Effect, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return e, err
	}
	if err := json.Unmarshal(members["key"], &e.Key); err != nil {
		return e, fmt.Errorf("the key: %w", err)
	}
	delete(members, "key")
	e.Arguments, err = json.Marshal(members)
	return e, err
}

// effectOf is the first effect of a call, whatever the attempt.
func effectOf(file, run, call string) (found Effect, there bool, err error) {
	effects, err := ReadLedger(file)
	for _, e := range effects {
		if r, c := e.Of(); r == run && c == call {
			return e, true, err
		}
	}
	return Effect{}, false, err
}
