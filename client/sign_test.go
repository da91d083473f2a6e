package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
)

// Each request is signed over its body, a retry anew; another server that a change is redirected to
// gets nothing of it.
func TestEachRequestToTheServerIsSigned(t *testing.T) {
	var elsewhere http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = r.Header
		_, _ = io.WriteString(w, `{"id":"run_x_0"}`)
	}))
	defer other.Close()
	var got []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sum := sha256.Sum256(body)
		if want := hex.EncodeToString(sum[:]); r.Header.Get("X-Digest") != want {
			t.Errorf("the signed digest is %q, that of the body %q", r.Header.Get("X-Digest"), want)
		}
		got = append(got, r.Header.Get("Authorization"))
		if len(got) == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	n := 0
	sign := func(_ context.Context, req *http.Request, payloadHash string) error {
		n++
		req.Header.Set("X-Digest", payloadHash)
		req.Header.Set("Authorization", []string{"", "first", "second"}[n])
		return nil
	}
	if _, err := client.New(s.URL, client.WithSigner(sign), client.WithSleep(noSleep)).Cancel(t.Context(), "run_x_0"); err == nil {
		t.Error("no error for a cancel that was redirected to another server")
	}
	if len(got) != 2 || got[0] != "first" || got[1] != "second" || elsewhere != nil {
		t.Errorf("signed %q, elsewhere %v", got, elsewhere)
	}
}

func TestARequestThatCannotBeSignedIsNotSent(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	expired, n := errors.New("the credentials have expired"), 0
	_, err := client.New(s.URL, client.WithSigner(func(context.Context, *http.Request, string) error { n++; return expired })).Run(t.Context(), "run_x_0")
	if !errors.Is(err, expired) || n != 1 {
		t.Errorf("%v after %d attempts", err, n)
	}
}

// A request that is redirected carries no signature, not even to a subdomain or another port.
func TestAnotherHostIsSentNoSignature(t *testing.T) {
	for host, signed := range map[string]bool{"api.example.com": true, "api.example.com:8443": false, "stream.api.example.com": false} {
		var last http.Header
		network := client.WithTransport(func(http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				last = r.Header
				resp := &http.Response{StatusCode: http.StatusTemporaryRedirect, Body: io.NopCloser(strings.NewReader(`{"id":"run_x_0"}`)), Header: http.Header{}, Request: r}
				if resp.Header.Set("Location", "https://"+host+"/elsewhere"); r.URL.Path == "/elsewhere" {
					resp.StatusCode = http.StatusOK
				}
				return resp, nil
			})
		})
		sign := func(_ context.Context, req *http.Request, _ string) error {
			req.Header.Set("Authorization", "signed")
			return nil
		}
		if _, err := client.New("https://api.example.com", client.WithSigner(sign), network).Run(t.Context(), "run_x_0"); err != nil {
			t.Fatal(err)
		}
		if got := last.Get("Authorization") != ""; got != signed {
			t.Errorf("%s: signed %v, %v", host, got, last)
		}
	}
}
