package signature_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/secret/signature"
)

// The requests are the examples that the senders publish; those of Stripe and Discord, which
// publish none with their key, were signed with OpenSSL.
const (
	slackBody = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	seed      = "0123456789abcdef0123456789abcdef"
)

type request struct {
	scheme signature.Scheme
	header map[string]string
	body   string
	at     int64
	key    string
}

func requests() map[string]request {
	discord := ed25519.NewKeyFromSeed([]byte(seed))
	return map[string]request{
		"standard": {signature.Standard, map[string]string{"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
			"webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}, `{"test": 2432232314}`, 1614265330, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		"slack": {signature.Slack, map[string]string{"X-Slack-Request-Timestamp": "1531420618",
			"X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"}, slackBody, 1531420618, "8f742231b10e8888abcd99yyyzzz85a5"},
		"github": {signature.GitHub, map[string]string{"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
			"Hello, World!", 0, "It's a Secret to Everybody"},
		"stripe": {signature.Stripe, map[string]string{"Stripe-Signature": "t=1492774577,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39,v1=1da69ec2f7f6484c279ec07a617b920ebf8d6612846f38b90ba726bf3c29725d"},
			`{"id":"evt_1Dormouse","object":"event","type":"charge.dispute.created"}`, 1492774577, "whsec_test_secret"},
		"ed25519": {signature.Ed25519, map[string]string{"X-Signature-Timestamp": "1614265330",
			"X-Signature-Ed25519": hex.EncodeToString(ed25519.Sign(discord, []byte("1614265330{}")))}, "{}", 1614265330, hex.EncodeToString(discord.Public().(ed25519.PublicKey))},
	}
}

func (r request) verify(t *testing.T, keys ...string) (string, error) {
	t.Helper()
	header := http.Header{}
	for name, value := range r.header {
		header.Set(name, value)
	}
	var read [][]byte
	for _, text := range keys {
		key, err := signature.Key(r.scheme, text)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, key)
	}
	return signature.Verify(r.scheme, header.Get, []byte(r.body), time.Unix(r.at, 0), read...)
}

func TestThePublishedExamplesVerify(t *testing.T) {
	for name, r := range requests() {
		got, err := r.verify(t, r.key)
		if err != nil || got == "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestEitherOfTwoKeysVerifies(t *testing.T) {
	for name, r := range requests() {
		other := strings.Repeat("0123456789abcdef", 4)
		if _, err := r.verify(t, other, r.key); err != nil {
			t.Errorf("%s, the new key second: %v", name, err)
		}
		if _, err := r.verify(t, other); !errors.Is(err, signature.ErrWrong) {
			t.Errorf("%s, another key: %v", name, err)
		}
		if _, err := r.verify(t); !errors.Is(err, signature.ErrWrong) {
			t.Errorf("%s, no key: %v", name, err)
		}
	}
}

func TestOneOfSeveralSignaturesVerifies(t *testing.T) {
	r := requests()["standard"]
	ours := r.header["webhook-signature"]
	for _, several := range []string{"v1,bm90IG91cnM= v1a,x " + ours, ours + "  v1,", "v1, " + ours + " " + ours} {
		r.header["webhook-signature"] = several
		if _, err := r.verify(t, r.key); err != nil {
			t.Errorf("%q: %v", several, err)
		}
	}
}

func TestWhatWasAlteredIsRefused(t *testing.T) {
	for name, r := range requests() {
		for header, value := range r.header {
			for what, changed := range map[string]string{"missing": "", "cut": value[:len(value)-1], "other": "1" + value, "spaces": " "} {
				altered := requests()[name]
				altered.header[header] = changed
				if _, err := altered.verify(t, r.key); err == nil {
					t.Errorf("%s: accepted with %s %s", name, header, what)
				}
			}
		}
		altered := r
		altered.body += " "
		if _, err := altered.verify(t, r.key); !errors.Is(err, signature.ErrWrong) {
			t.Errorf("%s: another body: %v", name, err)
		}
	}
}

func TestAnOldRequestIsRefusedAndOneOfTheFuture(t *testing.T) {
	for name, r := range requests() {
		for _, away := range []int64{-301, 301, -1 << 40, 1 << 40} {
			old := r
			old.at += away
			_, err := old.verify(t, r.key)
			if timed := r.scheme != signature.GitHub; timed != errors.Is(err, signature.ErrStale) {
				t.Errorf("%s, %d s away: %v", name, away, err)
			}
		}
		for _, away := range []int64{-300, 300} {
			near := r
			near.at += away
			if _, err := near.verify(t, r.key); err != nil {
				t.Errorf("%s, %d s away: %v", name, away, err)
			}
		}
	}
}

func TestARequestThatItsSenderRepeatsKeepsItsName(t *testing.T) {
	body, names := []byte(`{"id":"evt_1"}`), map[string]bool{}
	for _, at := range []int64{1700000000, 1700000007} {
		mac := hmac.New(sha256.New, []byte("k"))
		fmt.Fprintf(mac, "%d.%s", at, body)
		header := http.Header{"Stripe-Signature": {fmt.Sprintf("t=%d,v1=00,v1=%x", at, mac.Sum(nil))}}
		name, err := signature.Verify(signature.Stripe, header.Get, body, time.Unix(at, 0), []byte("k"))
		if err != nil {
			t.Fatal(err)
		}
		names[name] = true
	}
	if len(names) != 1 {
		t.Errorf("two deliveries of one event have the names %v", names)
	}
}

func TestTwoTimesAreNone(t *testing.T) {
	r := requests()["stripe"]
	r.header["Stripe-Signature"] += ",t=1492774577"
	if _, err := r.verify(t, r.key); !errors.Is(err, signature.ErrUnsigned) {
		t.Error(err)
	}
}

func TestSignedWithTwoKeysVerifiesWithEither(t *testing.T) {
	at, body := time.Unix(1700000000, 0), []byte(`{"type":"suspended"}`)
	before, now := []byte("the old key, 24 characters"), []byte("the new key, 24 characters")
	header := http.Header{}
	header.Set(signature.HeaderID, "evt_1")
	header.Set(signature.HeaderTimestamp, "1700000000")
	header.Set(signature.HeaderSignature, signature.Sign("evt_1", at, body, now, before))
	for _, key := range [][]byte{before, now} {
		if name, err := signature.Verify(signature.Standard, header.Get, body, at, key); name != "evt_1" || err != nil {
			t.Errorf("with %s: %q, %v", key, name, err)
		}
	}
}

func TestWordsOfAPassphraseAreNotKeys(t *testing.T) {
	for value, want := range map[string]int{"It's a Secret to Everybody": 1, "the key": 1, "short 0123456789abcdef": 1, " 0123456789abcdef\n": 1,
		"0123456789abcdef fedcba9876543210": 2, "0123456789abcdef fedcba9876543210 0123456789abcdef": 1, "": 0, "  ": 0} {
		keys, err := signature.Keys(signature.GitHub, value)
		if len(keys) != want || (want == 0) != errors.Is(err, signature.ErrWrongKey) {
			t.Errorf("%q: %d keys, %v", value, len(keys), err)
		}
	}
	if keys, _ := signature.Keys(signature.GitHub, " 0123456789abcdef\n"); string(keys[0]) != "0123456789abcdef" {
		t.Errorf("%q", keys)
	}
}

func TestKeysThatCannotBeRight(t *testing.T) {
	for _, c := range []struct {
		scheme signature.Scheme
		text   string
	}{{signature.Standard, ""}, {signature.Standard, "short"}, {signature.Standard, "whsec_%%%"}, {signature.Standard, "whsec_c2hvcnQ="}, {signature.Slack, ""},
		{signature.GitHub, ""}, {signature.Ed25519, "00"}, {signature.Ed25519, "not hexadecimal"}} {
		if _, err := signature.Key(c.scheme, c.text); !errors.Is(err, signature.ErrWrongKey) {
			t.Errorf("%s %q: %v", c.scheme, c.text, err)
		}
	}
	if _, err := signature.Verify("none", func(string) string { return "" }, nil, time.Time{}, []byte("k")); err == nil {
		t.Error("an unknown scheme verified")
	}
}
