package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Callers are those whom IAM knows, by the id of their access key.
type Callers map[string]Identity

// Identity is one of them.
type Identity struct{ Secret, ARN, UserID string }

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$`)

const clockSlack = 5 * time.Minute

// authorize checks a signature of version 4 by making it once more, and returns the authorizer's
// part of the event.
func (c Callers) authorize(r *http.Request, body []byte, region, account string, now time.Time) (map[string]any, error) {
	found := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if found == nil {
		return nil, errors.New("there is no signature of version 4")
	}
	key, service, signed := found[1], found[4], strings.Split(found[5], ";")
	who, known := c[key]
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch {
	case !known:
		return nil, fmt.Errorf("nobody has the access key %s", key)
	case err != nil || now.Sub(at).Abs() > clockSlack:
		return nil, fmt.Errorf("it was signed at %q, not now", r.Header.Get("X-Amz-Date"))
	case service != "execute-api" || found[3] != region:
		return nil, fmt.Errorf("it was signed for %s in %s", service, found[3])
	}
	again, err := sign(r, key, who.Secret, body, signed, region, at)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(again), []byte(found[6])) != 1 {
		return nil, errors.New("the signature is another one")
	}
	return map[string]any{"iam": map[string]any{"accessKey": key, "accountId": account, "callerId": who.UserID, "cognitoIdentity": nil,
		"principalOrgId": "aws:PrincipalOrgID", "userArn": who.ARN, "userId": who.UserID}}, nil
}

// sign returns the signature that the caller should have made, over the same headers.
func sign(r *http.Request, key, secret string, body []byte, signed []string, region string, at time.Time) (string, error) {
	again := r.Clone(context.Background())
	again.URL.Host, again.URL.Scheme = r.Host, "http"
	again.Header = http.Header{}
	again.ContentLength = 0
	for _, name := range signed {
		switch name {
		case "host", "x-amz-date":
		case "content-length":
			again.ContentLength = r.ContentLength
		default:
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	sum := sha256.Sum256(body)
	// a session token is among the headers
	credentials := aws.Credentials{AccessKeyID: key, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(context.Background(), credentials, again, hex.EncodeToString(sum[:]), "execute-api", region, at); err != nil {
		return "", err
	}
	found := authorization.FindStringSubmatch(again.Header.Get("Authorization"))
	if found == nil || found[5] != strings.Join(signed, ";") {
		return "", fmt.Errorf("the headers %v cannot be signed again", signed)
	}
	return found[6], nil
}
