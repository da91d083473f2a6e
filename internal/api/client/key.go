package client

import (
	"fmt"
	"strings"
)

const keyHeader = "Idempotency-Key"

// KeyError refuses an idempotency key that a header does not carry as it is. Nothing was sent.
type KeyError struct {
	Why string // what is wrong with the key, as "begins or ends with a blank"
}

func (e *KeyError) Error() string { return "client: the idempotency key " + e.Why }

// checkKey refuses keys that would arrive as another key, or not at all: HTTP takes blanks off the
// ends of a header's value.
func checkKey(key string) error {
	for _, r := range key {
		switch {
		case r < ' ' || r == 0x7f:
			return &KeyError{fmt.Sprintf("has a control character in it (%q)", r)}
		case r > '~':
			return &KeyError{fmt.Sprintf("has a character in it that is not ASCII (%+q)", r)}
		}
	}
	if strings.Trim(key, " ") != key {
		return &KeyError{"begins or ends with a blank"}
	}
	return nil
}
