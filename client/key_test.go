package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// keyed are the calls that send a key.
var keyed = map[string]func(t *testing.T, c *client.Client, key string) error{
	"start": func(t *testing.T, c *client.Client, key string) error {
		_, err := c.StartRun(t.Context(), client.StartRequest{Agent: "desk", Input: []byte(`"x"`)}, key)
		return err
	},
	"message": func(t *testing.T, c *client.Client, key string) error {
		_, err := c.SendMessage(t.Context(), "thr_x", client.MessageRequest{Input: []byte(`"x"`)}, key)
		return err
	},
	"interrupt": func(t *testing.T, c *client.Client, key string) error {
		_, err := c.Interrupt(t.Context(), "run_x_0", key)
		return err
	},
	"retry": func(t *testing.T, c *client.Client, key string) error {
		_, err := c.Retry(t.Context(), "run_x_0", key)
		return err
	},
}

func TestAKeyThatWouldArriveAsAnotherIsNotSent(t *testing.T) {
	var sent []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Idempotency-Key"))
		_, _ = io.WriteString(w, `{"id":"run_x_0"}`)
	})
	c := client.New(s.URL, client.WithHTTPClient(s.Client()), client.WithRetries(0))
	for name, send := range keyed {
		for _, key := range []string{" k", "k ", " ", "k\n", "\tk", "k\x1b", "k\x7f", "k\x00", "k\u00e9", "k\xff"} {
			if _, refused := errors.AsType[*client.KeyError](send(t, c, key)); !refused {
				t.Errorf("%s: the key %q was not refused", name, key)
			}
		}
		for _, key := range []string{"", "k", "a b", `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~`} {
			if err := send(t, c, key); err != nil || sent[len(sent)-1] != key {
				t.Errorf("%s: the key %q: %v, sent %q", name, key, err, sent)
			}
		}
	}
	if len(sent) != 4*len(keyed) {
		t.Errorf("sent %q", sent)
	}
}

func TestThePasswordOfAnAddressIsSentAndNotRepeated(t *testing.T) {
	var sent []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"status":"ok"}`)
	})
	address := strings.Replace(s.URL, "http://", "http://anna:secret@", 1) + "/"
	for token, want := range map[string]string{"": "Basic YW5uYTpzZWNyZXQ=", "t1": "Bearer t1"} {
		if _, err := client.New(address, client.WithToken(token), client.WithHTTPClient(s.Client()), client.WithRetries(0)).Health(t.Context()); err != nil || sent[len(sent)-1] != want {
			t.Errorf("%v, sent %q, want %q", err, sent, want)
		}
	}
	s.Close()
	_, err := client.New(address, client.WithRetries(0)).Health(t.Context())
	if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "anna") {
		t.Errorf("it says %v", err)
	}
}
