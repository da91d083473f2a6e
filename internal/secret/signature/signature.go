// Package signature signs and verifies the bodies of webhooks with shared secrets, in the schemes
// of Standard Webhooks, Slack, GitHub, Stripe and Discord. A signature covers the raw body: verify
// it before anything is parsed.
package signature

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Scheme is how a sender signs.
type Scheme string

const (
	Standard Scheme = "standard" // Standard Webhooks: HMAC-SHA256 of id, time and body
	Slack    Scheme = "slack"    // v0: HMAC-SHA256 of time and body
	GitHub   Scheme = "github"   // X-Hub-Signature-256: HMAC-SHA256 of the body, without a time
	Stripe   Scheme = "stripe"   // Stripe-Signature: HMAC-SHA256 of time and body
	Ed25519  Scheme = "ed25519"  // as Discord: Ed25519 of time and body
)

// Schemes are all of them.
var Schemes = []Scheme{Standard, Slack, GitHub, Stripe, Ed25519}

// Window is how far the time of a signed request may be from ours, in both directions.
const Window = 5 * time.Minute

// Reasons for which a request is refused. A caller learns no more than that.
var (
	ErrUnsigned  = errors.New("the request isn't signed")
	ErrWrong     = errors.New("the signature doesn't match the body")
	ErrStale     = errors.New("the request was signed too long ago, or the clocks differ by minutes")
	ErrWrongKey  = errors.New("the key can't be read")
	errUnwritten = fmt.Errorf("%w: write it as whsec_ and Base64, or as at least 24 characters", ErrWrongKey)
)

// Key reads a key of a scheme as it is stored as a secret: for Standard the Base64 behind whsec_,
// or the bytes of any other text; for Ed25519 the public key in hexadecimal; otherwise the text
// itself.
func Key(s Scheme, text string) ([]byte, error) {
	switch encoded, ours := strings.CutPrefix(text, "whsec_"); {
	case s == Standard && ours:
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) < 16 {
			return nil, errUnwritten
		}
		return key, nil
	case s == Ed25519:
		key, err := hex.DecodeString(text)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("%w: write the public key as 64 hexadecimal digits", ErrWrongKey)
		}
		return key, nil
	case s == Standard && len(text) < 24:
		return nil, errUnwritten
	case text == "":
		return nil, fmt.Errorf("%w: it is empty", ErrWrongKey)
	}
	return []byte(text), nil
}

// shortestOfTwo is how many characters each of two keys has at least. Words of a passphrase are
// shorter, and none of them must count as a key.
const shortestOfTwo = 16

// Keys reads the value of a secret: one key, or, while keys are changed, two of at least 16
// characters that are separated by a space.
func Keys(s Scheme, value string) (keys [][]byte, err error) {
	written := strings.Fields(value)
	if len(written) != 2 || len(written[0]) < shortestOfTwo || len(written[1]) < shortestOfTwo {
		written = []string{strings.TrimSpace(value)}
	}
	for _, text := range written {
		key, err := Key(s, text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Headers of Standard Webhooks.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Sign returns the value of [HeaderSignature] for a body: one signature for each key, so that a
// receiver may still have the old one while keys are changed.
func Sign(id string, at time.Time, body []byte, keys ...[]byte) string {
	signed := make([]string, len(keys))
	for i, key := range keys {
		signed[i] = "v1," + base64.StdEncoding.EncodeToString(standard(key, id, seconds(at), body))
	}
	return strings.Join(signed, " ")
}

func seconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func standard(key []byte, id, timestamp string, body []byte) []byte {
	return sum(key, []byte(id+"."+timestamp+"."), body)
}

func sum(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// Header returns a header of the request by its name, in any case; "" if it has none.
type Header func(name string) string

// Verify says whether one of the keys signed the body now. It returns what names the request among
// those of its sender: a request of the same name is a replay. Only Standard Webhooks signs a name;
// elsewhere the content is the name, so that a delivery that its sender repeats with a new time and
// signature keeps it. A name holds nothing that the signature doesn't cover.
func Verify(s Scheme, h Header, body []byte, now time.Time, keys ...[]byte) (name string, err error) {
	check, known := checks[s]
	if !known {
		return "", fmt.Errorf("signature: no scheme %q", s)
	}
	return check(h, body, now, keys)
}

var checks = map[Scheme]func(h Header, body []byte, now time.Time, keys [][]byte) (string, error){
	Standard: verifyStandard, Slack: verifySlack, GitHub: verifyGitHub, Stripe: verifyStripe, Ed25519: verifyEd25519,
}

func verifyStandard(h Header, body []byte, now time.Time, keys [][]byte) (string, error) {
	id, timestamp, given := h(HeaderID), h(HeaderTimestamp), h(HeaderSignature)
	if id == "" || timestamp == "" || given == "" {
		return "", ErrUnsigned
	}
	if err := inTime(timestamp, now); err != nil {
		return "", err
	}
	var signed [][]byte
	for _, one := range strings.Fields(given) {
		encoded, ours := strings.CutPrefix(one, "v1,")
		if got, err := base64.StdEncoding.DecodeString(encoded); ours && err == nil {
			signed = append(signed, got)
		}
	}
	if !matches(signed, keys, func(key []byte) []byte { return standard(key, id, timestamp, body) }) {
		return "", ErrWrong
	}
	return id, nil
}

func verifySlack(h Header, body []byte, now time.Time, keys [][]byte) (string, error) {
	timestamp := h("X-Slack-Request-Timestamp")
	got, err := hexBehind("v0=", h("X-Slack-Signature"))
	if err != nil || timestamp == "" {
		return "", ErrUnsigned
	}
	if err := inTime(timestamp, now); err != nil {
		return "", err
	}
	if !matches([][]byte{got}, keys, func(key []byte) []byte { return sum(key, []byte("v0:"+timestamp+":"), body) }) {
		return "", ErrWrong
	}
	return content(body), nil
}

// Name is the name of a request that is not verified; see [Verify].
func Name(s Scheme, h Header, body []byte) string {
	if s == Standard {
		return h(HeaderID)
	}
	return content(body)
}

// content names a request by its body.
func content(body []byte) string {
	digest := sha256.Sum256(body)
	return hex.EncodeToString(digest[:])
}

// verifyGitHub has no time to look at. A request that is sent again is a replay even under another
// delivery id, which isn't signed.
func verifyGitHub(h Header, body []byte, _ time.Time, keys [][]byte) (string, error) {
	got, err := hexBehind("sha256=", h("X-Hub-Signature-256"))
	if err != nil {
		return "", ErrUnsigned
	}
	if !matches([][]byte{got}, keys, func(key []byte) []byte { return sum(key, body) }) {
		return "", ErrWrong
	}
	return content(body), nil
}

// verifyStripe reads "t=TIME,v1=HEX", with one v1 for each key while keys are changed. Other
// members are ignored.
func verifyStripe(h Header, body []byte, now time.Time, keys [][]byte) (string, error) {
	timestamp, given := "", [][]byte(nil)
	for member := range strings.SplitSeq(h("Stripe-Signature"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		switch {
		case name == "t" && timestamp != "":
			return "", ErrUnsigned
		case name == "t":
			timestamp = value
		case name == "v1":
			if got, err := hexBehind("", value); err == nil {
				given = append(given, got)
			}
		}
	}
	if timestamp == "" || len(given) == 0 {
		return "", ErrUnsigned
	}
	if err := inTime(timestamp, now); err != nil {
		return "", err
	}
	if !matches(given, keys, func(key []byte) []byte { return sum(key, []byte(timestamp+"."), body) }) {
		return "", ErrWrong
	}
	return content(body), nil
}

func verifyEd25519(h Header, body []byte, now time.Time, keys [][]byte) (string, error) {
	timestamp := h("X-Signature-Timestamp")
	got, err := hex.DecodeString(h("X-Signature-Ed25519"))
	if err != nil || len(got) != ed25519.SignatureSize || timestamp == "" {
		return "", ErrUnsigned
	}
	if err := inTime(timestamp, now); err != nil {
		return "", err
	}
	signed := append([]byte(timestamp), body...)
	for _, key := range keys {
		if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, signed, got) {
			return content(body), nil
		}
	}
	return "", ErrWrong
}

func hexBehind(prefix, header string) ([]byte, error) {
	digits, ours := strings.CutPrefix(header, prefix)
	got, err := hex.DecodeString(digits)
	if !ours || err != nil || len(got) != sha256.Size {
		return nil, ErrUnsigned
	}
	return got, nil
}

// matches compares in constant time, with every key. The body is read once for each key, however
// many signatures an unknown sender writes.
func matches(given, keys [][]byte, want func(key []byte) []byte) bool {
	found := false
	for _, key := range keys {
		wanted := want(key)
		for _, got := range given {
			found = hmac.Equal(got, wanted) || found
		}
	}
	return found
}

func inTime(timestamp string, now time.Time) error {
	at, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return ErrUnsigned
	}
	if away := now.Unix() - at; away > int64(Window.Seconds()) || away < -int64(Window.Seconds()) {
		return ErrStale
	}
	return nil
}
