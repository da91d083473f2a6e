package suites

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/platform"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
)

// byHand is a request that is signed, as scripts sign theirs.
type byHand struct {
	method, path, body string
	headers            map[string]string
	secret             string // "" is the caller's own
	sent               string // in place of the body that was signed; "" is that body
}

func (t *Target) send(ctx context.Context, r byHand) (int, string, error) {
	sent := r.body
	if r.sent != "" {
		sent = r.sent
	}
	req, err := http.NewRequestWithContext(ctx, r.method, t.API+r.path, strings.NewReader(sent))
	if err != nil {
		return 0, "", err
	}
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	id, secret := platform.Credentials()
	if r.secret != "" {
		secret = r.secret
	}
	sum := sha256.Sum256([]byte(r.body))
	if err := v4.NewSigner().SignHTTP(ctx, aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: sessionToken}, req,
		hex.EncodeToString(sum[:]), "execute-api", servers.Region, time.Now()); err != nil {
		return 0, "", err
	}
	resp, err := (&http.Client{Timeout: requestLimit}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

func (t *Target) signedAnswers(ctx context.Context, r byHand, want int) error {
	got, answer, err := t.send(ctx, r)
	if err == nil && got != want {
		err = fmt.Errorf("%s %s was answered with %d and not with %d: %s", r.method, r.path, got, want, answer)
	}
	return err
}
