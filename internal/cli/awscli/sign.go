//go:build !noaws

package awscli

import (
	"context"
	"fmt"
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
	v4          *v4.Signer
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
	return &Signer{credentials: c.Credentials, region: c.Region, now: now, v4: v4.NewSigner()}, nil
}

// Region is the one that signatures are for.
func (s *Signer) Region() string { return s.region }

// Sign signs a request (SigV4, service execute-api). It is a client.SignFunc: payloadHash is the
// SHA-256 of the body in hex.
func (s *Signer) Sign(ctx context.Context, req *http.Request, payloadHash string) error {
	credentials, err := s.credentials.Retrieve(ctx)
	if err != nil {
		return &Problem{"no_credentials", "the AWS credentials cannot be renewed; get new ones, and look at " + WhichCredentials(), err}
	}
	if err := s.v4.SignHTTP(ctx, credentials, req, payloadHash, service, s.region, s.now()); err != nil {
		return fmt.Errorf("awscli: signing: %w", err)
	}
	return nil
}
