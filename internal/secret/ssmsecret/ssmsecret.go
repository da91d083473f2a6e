// Package ssmsecret finds secrets in the Parameter Store of AWS Systems Manager: the secret NAME is
// the parameter NAME below one path. It keeps what it read for some minutes, so that a call costs a
// look into memory. It writes no parameter, lists none, and holds the key to none: a SecureString
// is decrypted by the service, for a role that may.
package ssmsecret

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// Client is what is used of the service's own client.
type Client interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

// Options say where the secrets are. Both are required.
type Options struct {
	Path  string // with a slash at its end, such as /dormouse/prod/
	Clock engine.Clock
}

const (
	// fresh is how long a value counts without another look: so long a changed one may go
	// unseen.
	fresh = 5 * time.Minute

	// usable is how long a value is used while the service does not answer. One that the
	// service refuses to tell is not.
	usable = time.Hour

	// rest is how long nothing is asked after a lookup that found nothing or failed: many calls
	// at once must not become many requests of a service that allows some forty a second.
	rest = 5 * time.Second

	// patience bounds one lookup, repeats of the client included.
	patience = 5 * time.Second
)

// New returns a source that asks the service when a value is needed, once at a time for each name.
// Its errors hold no value.
func New(client Client, o Options) secret.Source {
	s := &store{client: client, o: o, known: map[string]*entry{}}
	return s.lookup
}

type store struct {
	client Client
	o      Options

	mu    sync.Mutex
	known map[string]*entry
}

// entry is what is known of one name. Its fields are guarded by the store's lock.
type entry struct {
	value   string
	read    time.Time // when value was read; zero: never
	err     error     // of the last lookup
	next    time.Time // before it nothing is asked
	pending chan struct{}
}

// mostKnown bounds the names that are remembered. Definitions name secrets, so there is no end to
// them.
const mostKnown = 1000

func (s *store) lookup(ctx context.Context, name string) (string, error) {
	for {
		value, wait, err := s.at(ctx, name)
		if wait == nil {
			return value, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// at is what is known now, or what to wait for until more is known.
func (s *store) at(ctx context.Context, name string) (value string, wait chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(name)
	now := s.o.Clock.Now()
	if now.Before(e.next) {
		value, err = e.answer(now)
		return value, nil, err
	}
	if e.pending == nil {
		e.pending = make(chan struct{})
		// Whoever began it may leave, and others wait for the same: it is nobody's own, and
		// ends by itself.
		go s.fetch(context.WithoutCancel(ctx), name, e)
	}
	return "", e.pending, nil
}

func (s *store) entry(name string) *entry {
	e := s.known[name]
	if e == nil {
		if len(s.known) >= mostKnown {
			clear(s.known)
		}
		e = &entry{}
		s.known[name] = e
	}
	return e
}

func (e *entry) answer(now time.Time) (string, error) {
	if e.err == nil || !e.read.IsZero() && now.Before(e.read.Add(usable)) && passing(e.err) {
		return e.value, nil
	}
	return "", e.err
}

// fetch asks the service once, and tells everybody who waits.
func (s *store) fetch(ctx context.Context, name string, e *entry) {
	ctx, cancel := context.WithCancel(ctx)
	stop := s.o.Clock.AfterFunc(patience, cancel)
	value, err := s.get(ctx, name)
	stop()
	cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Clock.Now()
	e.err, e.next = err, now.Add(rest)
	if err == nil {
		e.value, e.read, e.next = value, now, now.Add(fresh)
	}
	close(e.pending)
	e.pending = nil
}

func (s *store) get(ctx context.Context, name string) (string, error) {
	out, err := s.client.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(s.o.Path + name), WithDecryption: aws.Bool(true)})
	var refusal smithy.APIError
	switch {
	case errors.As(err, &refusal) && refusal.ErrorCode() == "ParameterNotFound":
		return "", secret.ErrNotSet
	case err != nil:
		return "", fmt.Errorf("reading the parameter %s%s: %w", s.o.Path, name, err)
	case out.Parameter == nil || aws.ToString(out.Parameter.Value) == "":
		return "", secret.ErrNotSet
	}
	return *out.Parameter.Value, nil
}

// passing says whether an error says nothing of the parameter: no answer, a fault of the service,
// too many requests.
func passing(err error) bool {
	var refusal smithy.APIError
	var response *awshttp.ResponseError
	switch {
	case errors.Is(err, secret.ErrNotSet):
		return false
	case !errors.As(err, &refusal):
		return true
	}
	return refusal.ErrorCode() == "ThrottlingException" || errors.As(err, &response) && response.HTTPStatusCode() >= 500
}
