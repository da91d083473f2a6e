package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/dormouse-dev/dormouse/client/internal/redirects"
)

// SignFunc signs a request by adding headers to it. payloadHash is the SHA-256 of the body in hex.
type SignFunc func(ctx context.Context, req *http.Request, payloadHash string) error

// WithSigner signs each request to the server, and signs each retry again. Use it for a stack that
// authenticates callers with AWS IAM; see the example. Don't combine it with [WithToken]: both set
// the Authorization header.
//
// The client itself doesn't depend on the AWS SDK. SignFunc has the form of SignHTTP in
// github.com/aws/aws-sdk-go-v2/aws/signer/v4, for which the service name is "execute-api".
func WithSigner(sign SignFunc) Option { return func(c *config) { c.sign = sign } }

// signed is a network on which requests to one host are signed. Requests to other hosts, such as
// one that was redirected, carry no signature.
type signed struct {
	host  string
	sign  SignFunc
	inner http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (s *signed) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != s.host {
		return s.inner.RoundTrip(req)
	}
	out, digest, err := withBody(req)
	if err != nil {
		return nil, err
	}
	if err := s.sign(req.Context(), out, digest); err != nil {
		return nil, permanent{fmt.Errorf("client: signing the request: %w", err)}
	}
	return s.inner.RoundTrip(out)
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

// network is the HTTP client with the signer, the transports and the rules on redirects.
func (c *config) network(base string) *http.Client {
	h := *c.client
	if h.Transport == nil {
		h.Transport = http.DefaultTransport
	}
	for _, wrap := range c.transports {
		h.Transport = wrap(h.Transport)
	}
	if u, err := url.Parse(base); c.sign != nil && err == nil {
		h.Transport = &signed{u.Host, c.sign, h.Transport}
	}
	return redirects.WithoutCredentials(&h, func(err error) error { return permanent{err} })
}
