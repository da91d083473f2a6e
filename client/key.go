package client

import (
	"encoding/base32"
	"fmt"
	"io"
	"strings"
)

const keyHeader = "Idempotency-Key"

// KeyError refuses an idempotency key that can't be sent as it is in a header. Nothing was sent.
type KeyError struct {
	Why string // what is wrong with the key, such as "begins or ends with a blank"
}

// Error returns what is wrong with the key.
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

// keyed is the header with the caller's key. A client that retries makes a key if the caller gave
// none, so that a retry doesn't start a second run.
func (c *Client) keyed(key string) (map[string]string, error) {
	key, err := c.orMade(key)
	return map[string]string{keyHeader: key}, err
}

// orMade is the key, or one that the client makes if there is none and it retries.
func (c *Client) orMade(key string) (string, error) {
	if key != "" || c.retries == 0 {
		return key, nil
	}
	b := make([]byte, 20)
	if _, err := io.ReadFull(c.random, b); err != nil {
		return "", fmt.Errorf("client: making an idempotency key: %w", err)
	}
	return "auto-" + strings.ToLower(base32.StdEncoding.EncodeToString(b)), nil
}
