package platform

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/e2e/gateway"
	"github.com/dormouse-dev/dormouse/internal/proof/e2e/servers"
)

// Audience is what tokens are for.
const Audience = "dormouse"

// The credentials of whoever signs requests here, and of the functions. No server of this machine
// looks at them but the gateway.
const (
	keyID  = "AKIAIOSFODNN7EXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// Credentials are those of the one caller whom IAM knows.
func Credentials() (id, key string) { return keyID, secret }

// Callers are whom IAM knows.
func Callers() gateway.Callers {
	return gateway.Callers{keyID: {Secret: secret, ARN: "arn:aws:iam::" + servers.Account + ":user/proof", UserID: "AIDACKCEVSQ6C2EXAMPLE"}}
}

// Issuer makes tokens as an identity provider does.
type Issuer struct {
	Name string
	key  *rsa.PrivateKey
}

const keyName = "proof-1"

// NewIssuer is one with a key of its own.
func NewIssuer() *Issuer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // only of a size that is none
	}
	return &Issuer{Name: "https://issuer.example", key: key}
}

// Keys are what a gateway checks tokens with.
func (i *Issuer) Keys() gateway.Keys {
	return gateway.Keys{i.Name: {keyName: &i.key.PublicKey}}
}

// Token is one for somebody of a tenant with these roles, good for a while. A negative while makes
// one that was.
func (i *Issuer) Token(who, tenant string, roles []string, while time.Duration) string {
	now := time.Now()
	return i.sign(map[string]any{"iss": i.Name, "aud": Audience, "sub": who, "tenant": tenant, "roles": roles,
		"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(while).Unix()})
}

func (i *Issuer) sign(claims map[string]any) string {
	// texts always have a JSON form
	head, _ := json.Marshal(map[string]string{"alg": "RS256", "kid": keyName, "typ": "JWT"})
	body, _ := json.Marshal(claims)
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // the key is large enough
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
