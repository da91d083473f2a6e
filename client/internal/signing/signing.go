// Package signing signs the requests of a client.
package signing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
)

// Transport is a network on which requests to one host are signed. Requests to other hosts, such as
// one that was redirected, carry no signature.
type Transport struct {
	Host string
	// Sign adds headers to a request, whose body has this SHA-256 in hex
	Sign  func(ctx context.Context, req *http.Request, payloadHash string) error
	Inner http.RoundTripper
	Final func(error) error // marks an error after which another attempt is useless
}

// RoundTrip implements [http.RoundTripper].
func (s Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != s.Host {
		return s.Inner.RoundTrip(req)
	}
	out, digest, err := withBody(req)
	if err != nil {
		return nil, err
	}
	if err := s.Sign(req.Context(), out, digest); err != nil {
		return nil, s.Final(fmt.Errorf("client: signing the request: %w", err))
	}
	return s.Inner.RoundTrip(out)
}

// withBody returns a copy of the request to be signed, and the digest of its body. A RoundTripper
// may not change the request it is given.
func withBody(req *http.Request) (out *http.Request, digest string, err error) {
	out = req.Clone(req.Context())
	var body []byte
	if req.Body != nil {
		defer req.Body.Close()
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, "", err
		}
		out.Body = io.NopCloser(bytes.NewReader(body))
		out.ContentLength = int64(len(body))
	}
	sum := sha256.Sum256(body)
	return out, hex.EncodeToString(sum[:]), nil
}
