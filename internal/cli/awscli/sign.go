//go:build !noaws

package awscli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// service is that of an API Gateway with an IAM authorizer, as signatures name it.
const service = "execute-api"

// Signer signs the requests of one caller.
type Signer struct {
	credentials aws.CredentialsProvider
	region      string
	now         func() time.Time
}

// NewSigner finds credentials; a region that is empty is the configured one. The errors are of
// [Problem]. now is the clock that signatures carry: AWS refuses one that is more than five minutes
// off.
func NewSigner(ctx context.Context, region string, now func() time.Time) (*Signer, error) {
	c, err := load(ctx, region)
	if err != nil {
		return nil, err
	}
	if c.Region == "" {
		return nil, &Problem{"no_region", "the address does not say in which AWS region it is; set DORMOUSE_AWS_REGION", nil}
	}
	return &Signer{credentials: c.Credentials, region: c.Region, now: now}, nil
}

// Region is the one that signatures are for.
func (s *Signer) Region() string { return s.region }

// Sign makes a network on which every request to host is signed (SigV4, service execute-api), each
// time it is sent. Requests to other hosts, such as one that was redirected, carry no signature.
func (s *Signer) Sign(host string, inner http.RoundTripper) http.RoundTripper {
	return &signed{s, host, v4.NewSigner(), inner}
}

type signed struct {
	*Signer
	host  string
	v4    *v4.Signer
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
	credentials, err := s.credentials.Retrieve(req.Context())
	if err != nil {
		return nil, &Problem{"no_credentials", "the AWS credentials cannot be renewed; get new ones, and look at " + WhichCredentials(), err}
	}
	if err := s.v4.SignHTTP(req.Context(), credentials, out, digest, service, s.region, s.now()); err != nil {
		return nil, fmt.Errorf("awscli: signing: %w", err)
	}
	return s.inner.RoundTrip(out)
}

// withBody is a copy of the request to be signed, and the digest of its body. A request that was
// given to a network may not be changed.
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
