package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/dormouse-dev/dormouse/client/internal/redirects"
	"github.com/dormouse-dev/dormouse/client/internal/signing"
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
		h.Transport = signing.Transport{Host: u.Host, Sign: c.sign, Inner: h.Transport, Final: final}
	}
	return redirects.WithoutCredentials(&h, final)
}
