//go:build !noaws

package awscli

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dormouse-dev/dormouse/client"
)

const (
	keyID     = "AKIDEXAMPLE"
	keySecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// verifier checks signatures by the words of the specification, with nothing of the SDK.
type verifier struct{ region, secret string }

func (v verifier) check(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return fmt.Errorf("authorization %q", r.Header.Get("Authorization"))
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(rest, ", ") {
		name, value, _ := strings.Cut(part, "=")
		parts[name] = value
	}
	day := r.Header.Get("X-Amz-Date")[:8]
	scope := day + "/" + v.region + "/execute-api/aws4_request"
	if parts["Credential"] != keyID+"/"+scope {
		return fmt.Errorf("credential %q, want scope %s", parts["Credential"], scope)
	}
	names := strings.Split(parts["SignedHeaders"], ";")
	for _, must := range []string{"host", "x-amz-date"} {
		if !slices.Contains(names, must) {
			return fmt.Errorf("%s is not signed: %v", must, names)
		}
	}
	toSign := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + sum(canonicalRequest(r, names, body))
	key := []byte("AWS4" + v.secret)
	for _, step := range []string{day, v.region, "execute-api", "aws4_request", toSign} {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(step))
		key = h.Sum(nil)
	}
	if want := hex.EncodeToString(key); want != parts["Signature"] {
		return fmt.Errorf("signature %s, want %s", parts["Signature"], want)
	}
	return nil
}

func canonicalRequest(r *http.Request, names []string, body []byte) string {
	var headers strings.Builder
	for _, name := range names {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	// escaped once more, as all services but S3 want it
	path := strings.ReplaceAll(url.PathEscape(r.URL.EscapedPath()), "%2F", "/")
	return strings.Join([]string{r.Method, path, strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20"), headers.String(), strings.Join(names, ";"), sum(string(body))}, "\n")
}

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

// bare is an environment with these credentials and none else.
func bare(t *testing.T, env map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range os.Environ() {
		if name, _, _ = strings.Cut(name, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	for name, value := range env {
		t.Setenv(name, value)
	}
}

func TestRequestsAreSigned(t *testing.T) {
	bare(t, map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": keySecret, "AWS_SESSION_TOKEN": "session"})
	var wrong []error
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		wrong = append(wrong, verifier{"eu-central-1", keySecret}.check(r))
		if r.Header.Get("X-Amz-Security-Token") != "session" {
			wrong = append(wrong, errors.New("the session's token is not sent"))
		}
	}))
	defer server.Close()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s, err := NewSigner(t.Context(), "eu-central-1", func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/v1/runs", ""},
		{"GET", "/v1/runs?status=waiting&agent=a%20b&cursor=x%2By%3D", ""},
		{"POST", "/v1/runs/run_a%2Fb_0/decisions", `{"target":"sus_1"}`},
		{"POST", "/prod/v1/runs", `{"agent":"ü"}`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, server.URL+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sign(t.Context(), req, digest(r.body)); err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if last := wrong[len(wrong)-1]; last != nil {
			t.Errorf("%s %s: %v", r.method, r.path, last)
		}
	}
	if len(wrong) != 4 {
		t.Errorf("%v", wrong)
	}
	if err := (verifier{"eu-central-1", "another"}).check(replayed(t, s, server.URL)); err == nil {
		t.Error("the check takes any signature")
	}
}

// replayed is a signed request as a server gets it.
func replayed(t *testing.T, s *Signer, address string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/v1/runs", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Sign(t.Context(), req, digest("")); err != nil {
		t.Fatal(err)
	}
	return req
}

// digest is the SHA-256 of a body in hex.
func digest(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

func TestWithoutCredentialsOrARegionItIsSaidWhatToDo(t *testing.T) {
	bare(t, nil)
	_, err := NewSigner(t.Context(), "eu-central-1", time.Now)
	if p, ok := errors.AsType[*Problem](err); !ok || p.Kind != "no_credentials" || !strings.Contains(p.What, "AWS_PROFILE") {
		t.Errorf("%v", err)
	}
	t.Setenv("AWS_PROFILE", "nobody")
	_, err = NewSigner(t.Context(), "eu-central-1", time.Now)
	if p, ok := errors.AsType[*Problem](err); !ok || p.Kind != "no_credentials" || !strings.Contains(p.What, `"nobody"`) {
		t.Errorf("%v", err)
	}
	bare(t, map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": keySecret, "AWS_PROFILE": ""})
	_, err = NewSigner(t.Context(), "", time.Now)
	if p, ok := errors.AsType[*Problem](err); !ok || p.Kind != "no_region" {
		t.Errorf("%v", err)
	}
}

func TestTheRegionOfAnAddress(t *testing.T) {
	for host, want := range map[string]string{"abc123.execute-api.eu-central-1.amazonaws.com": "eu-central-1", "abc.execute-api.cn-north-1.amazonaws.com.cn": "cn-north-1",
		"api.example.com": "", "execute-api.eu-central-1.amazonaws.com.evil.example": ""} {
		if got := RegionOf(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// TestHalfAKeyIsNotPassedOver: the SDK would take the credentials of a profile, which may be
// somebody else's.
func TestHalfAKeyIsNotPassedOver(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		says string
	}{
		"no secret": {map[string]string{"AWS_ACCESS_KEY_ID": keyID}, "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not"},
		"no id":     {map[string]string{"AWS_SECRET_ACCESS_KEY": keySecret}, "AWS_SECRET_ACCESS_KEY is set and AWS_ACCESS_KEY_ID is not"},
	} {
		t.Run(name, func(t *testing.T) {
			bare(t, map[string]string{"AWS_PROFILE": ""})
			profile(t, "default")
			if _, err := NewSigner(t.Context(), "eu-central-1", time.Now); err != nil {
				t.Fatalf("the profile alone: %v", err)
			}
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			_, err := NewSigner(t.Context(), "eu-central-1", time.Now)
			if p, ok := errors.AsType[*Problem](err); !ok || p.Kind != "no_credentials" || !strings.HasPrefix(p.What, tt.says) || strings.Contains(p.What, keySecret) {
				t.Errorf("%v", err)
			}
			profile(t, "named")
			t.Setenv("AWS_PROFILE", "named") // says whose they are
			if _, err := NewSigner(t.Context(), "eu-central-1", time.Now); err != nil {
				t.Errorf("a profile that is named: %v", err)
			}
		})
	}
}

// profile writes the credentials of a profile.
func profile(t *testing.T, name string) {
	t.Helper()
	text := "[" + name + "]\naws_access_key_id = " + keyID + "\naws_secret_access_key = " + keySecret + "\n"
	if err := os.WriteFile(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNoRegionIsRefused(t *testing.T) {
	bare(t, map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": keySecret})
	for region, is := range map[string]bool{"eu-central-1": true, "us-gov-west-1": true, "local": true, "eu central": false, "EU-CENTRAL-1": false, "eu-central-1/": false, "-": false} {
		_, err := NewSigner(t.Context(), region, time.Now)
		if p, ok := errors.AsType[*Problem](err); (err == nil) != is || ok && p.Kind != "no_region" {
			t.Errorf("%q: %v", region, err)
		}
	}
}

func TestCredentialsThatCannotBeRenewedAreNoSilentServer(t *testing.T) {
	s := &Signer{credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("the session is over")
	}), region: "eu-central-1", now: time.Now}
	network := client.WithTransport(func(http.RoundTripper) http.RoundTripper {
		return roundTrip(func(*http.Request) (*http.Response, error) {
			t.Error("the request was sent without a signature")
			return nil, errors.New("not asked for")
		})
	})
	_, err := client.New("https://api.example.com", client.WithSigner(s.Sign), network).Agents(t.Context())
	if p, ok := errors.AsType[*Problem](err); !ok || p.Kind != "no_credentials" || !strings.Contains(p.What, "get new ones") {
		t.Errorf("%v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
