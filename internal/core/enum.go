package core

import (
	"fmt"
)

// The enums of this package are small integers whose zero value is the usual case; outside, in JSON
// and on the screen, they are the short lower-case words of these tables.

func name(names []string, v uint8) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("invalid(%d)", v)
}

func marshalName(what string, names []string, v uint8) ([]byte, error) {
	if int(v) >= len(names) || names[v] == "" {
		return nil, fmt.Errorf("core: %d is not a %s", v, what)
	}
	return []byte(names[v]), nil
}

func unmarshalName[E ~uint8](what string, names []string, text []byte, to *E) error {
	for i, n := range names {
		if n != "" && n == string(text) {
			*to = E(i)
			return nil
		}
	}
	return fmt.Errorf("core: %q is not a %s", text, what)
}
