package ssmsecret_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/machine/awsrequest"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/secret/ssmsecret"
)

// double is the service, over the loopback.
type double struct {
	mu     sync.Mutex
	values map[string]string
	fault  func(http.ResponseWriter) bool // it answered
	asked  []string                       // names of parameters
	gate   chan struct{}                  // nil: requests are answered at once
	came   chan struct{}                  // told of each request that waits at the gate
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name           string
		WithDecryption bool
	}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &in); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter" || !in.WithDecryption {
		refuse(w, 400, "ValidationException")
		return
	}
	d.mu.Lock()
	d.asked = append(d.asked, in.Name)
	value, ok, fault, gate := d.values[in.Name], d.values[in.Name] != "", d.fault, d.gate
	d.mu.Unlock()
	if gate != nil {
		d.came <- struct{}{}
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	}
	switch {
	case fault != nil && fault(w):
	case !ok:
		refuse(w, 400, "ParameterNotFound")
	default:
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]any{"Name": in.Name, "Type": "SecureString", "Value": value, "Version": 1}})
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"__type":%q,"message":"words of the service"}`, code)
}

func answers(status int, code string) func(http.ResponseWriter) bool {
	return func(w http.ResponseWriter) bool { refuse(w, status, code); return true }
}

func (d *double) requests() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.asked)
}

func (d *double) set(values map[string]string, fault func(http.ResponseWriter) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values, d.fault = values, fault
}

const parameter = "/dormouse/test/TOKEN"

func opened(t *testing.T) (*double, *enginetest.Clock, secret.Source) {
	t.Helper()
	d, clock := &double{values: map[string]string{parameter: "planted-value"}}, enginetest.AtMilli(0)
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	client := awsrequest.New("ssm", aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(server.URL),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "k", SecretAccessKey: "s"}, nil
		})})
	return d, clock, ssmsecret.New(client, ssmsecret.Options{Path: "/dormouse/test/", Clock: clock})
}

func expect(t *testing.T, source secret.Source, want string) {
	t.Helper()
	if got, err := source(t.Context(), "TOKEN"); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestAValueIsReadOnceInFiveMinutes(t *testing.T) {
	d, clock, source := opened(t)
	for range 3 {
		expect(t, source, "planted-value")
	}
	clock.Advance(5*time.Minute - time.Millisecond)
	d.set(map[string]string{parameter: "rotated-value"}, nil)
	expect(t, source, "planted-value")
	clock.Advance(time.Millisecond)
	expect(t, source, "rotated-value")
	if n := d.requests(); n != 2 || d.asked[0] != parameter {
		t.Errorf("asked for %q", d.asked)
	}
}

func TestWhatIsNotThereIsNotSetAndIsAskedForAgainSoon(t *testing.T) {
	d, clock, source := opened(t)
	d.set(nil, nil)
	for range 3 {
		if got, err := source(t.Context(), "TOKEN"); got != "" || !errors.Is(err, secret.ErrNotSet) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if n := d.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
	d.set(map[string]string{parameter: "planted-value"}, nil)
	clock.Advance(5 * time.Second)
	expect(t, source, "planted-value")
}

func TestManyAtOnceAreOneRequest(t *testing.T) {
	d, _, source := opened(t)
	d.gate, d.came = make(chan struct{}), make(chan struct{}, 100)
	left, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := source(left, "TOKEN")
		first <- err
	}()
	<-d.came
	cancel() // who began it leaves
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("who left was told %v", err)
	}
	got := make(chan string)
	for range 20 {
		go func() {
			value, err := source(t.Context(), "TOKEN")
			got <- fmt.Sprint(value, err)
		}()
	}
	close(d.gate)
	for range 20 {
		if value := <-got; value != "planted-value<nil>" {
			t.Error(value)
		}
	}
	if n := d.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestAServiceThatDoesNotAnswerCostsAFewSeconds(t *testing.T) {
	d, clock, source := opened(t)
	d.gate, d.came = make(chan struct{}), make(chan struct{}, 100)
	failed := make(chan error)
	go func() {
		_, err := source(t.Context(), "TOKEN")
		failed <- err
	}()
	<-d.came
	clock.Advance(5 * time.Second)
	if err := <-failed; err == nil || errors.Is(err, secret.ErrNotSet) {
		t.Errorf("got %v", err)
	}
	if _, err := source(t.Context(), "TOKEN"); err == nil || d.requests() != 1 {
		t.Errorf("%v after %d requests", err, d.requests())
	}
}

func TestAnOldValueServesWhileTheServiceFailsAndNotWhenItRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  func(http.ResponseWriter) bool
		serves bool
	}{
		{"throttled", answers(400, "ThrottlingException"), true},
		{"a fault of the service", answers(500, "InternalServerError"), true},
		{"a fault that nobody knows", answers(503, "SomethingElse"), true},
		{"no answer that can be read", func(w http.ResponseWriter) bool { panic(http.ErrAbortHandler) }, true},
		{"no right any more", answers(400, "AccessDeniedException"), false},
		{"no right to the key", answers(400, "InvalidKeyId"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, clock, source := opened(t)
			expect(t, source, "planted-value")
			d.set(d.values, tt.fault)
			clock.Advance(5 * time.Minute)
			got, err := source(t.Context(), "TOKEN")
			if tt.serves != (got == "planted-value" && err == nil) {
				t.Errorf("got %q, %v", got, err)
			}
			for range 10 {
				_, _ = source(t.Context(), "TOKEN")
			}
			if n := d.requests(); n != 2 {
				t.Errorf("%d requests", n)
			}
			clock.Advance(time.Hour)
			got, err = source(t.Context(), "TOKEN")
			if got != "" || err == nil || strings.Contains(err.Error(), "planted-value") {
				t.Errorf("after an hour: %q, %v", got, err)
			}
		})
	}
}
