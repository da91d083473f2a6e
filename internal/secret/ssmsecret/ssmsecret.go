// Package ssmsecret finds secrets in the Parameter Store of AWS Systems Manager: the secret NAME is
// the parameter NAME under one path. It caches values for some minutes, so that a call usually
// needs no request. It writes and lists no parameters and holds no keys: the service decrypts a
// SecureString for a role that is allowed to read it.
package ssmsecret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/machine/awsrequest"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// Options say where the secrets are. Both are required.
type Options struct {
	Path  string // ends with a slash, such as /dormouse/prod/
	Clock engine.Clock
}

const (
	// fresh is how long a value is used without another lookup, and so how long a change may go
	// unnoticed.
	fresh = 5 * time.Minute

	// usable is how long a value is used while the service does not respond. A value that the
	// service refuses to return is not used.
	usable = time.Hour

	// rest is the pause after a lookup that failed or found nothing: many concurrent calls must
	// not become many requests to a service that allows some forty a second.
	rest = 5 * time.Second

	// patience limits one lookup, including the retries of the client.
	patience = 5 * time.Second
)

// New returns a source that asks the service when a value is needed, with one request at a time for
// each name. Its errors contain no value. The client is that of the service ssm.
func New(client *awsrequest.Client, o Options) secret.Source {
	s := &store{client: client, o: o, known: map[string]*entry{}}
	return s.lookup
}

type store struct {
	client *awsrequest.Client
	o      Options

	mu    sync.Mutex
	known map[string]*entry
}

// entry is the cached state of one name. The lock of the store guards its fields.
type entry struct {
	value   string
	read    time.Time // when value was read; zero if never
	err     error     // of the last lookup
	next    time.Time // no request before it
	pending chan struct{}
}

// mostKnown limits the cached names. Definitions choose the names, so their number is unbounded.
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

// at returns the cached value, or a channel that is closed when the lookup is done.
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
		// The lookup outlives the call that began it, because others may wait for the same
		// one. It has a time limit.
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

// fetch asks the service once and wakes everyone who waits.
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
	out, err := s.client.Post(ctx, awsrequest.Request{Path: "/",
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"AmazonSSM.GetParameter"}},
		Body:   core.Encode(map[string]any{"Name": s.o.Path + name, "WithDecryption": true})})
	var refusal smithy.APIError
	switch {
	case errors.As(err, &refusal) && refusal.ErrorCode() == "ParameterNotFound":
		return "", secret.ErrNotSet
	case err != nil:
		return "", fmt.Errorf("reading the parameter %s%s: %w", s.o.Path, name, err)
	}
	var found struct{ Parameter struct{ Value string } }
	if err := json.Unmarshal(out.Body, &found); err != nil {
		return "", fmt.Errorf("reading the parameter %s%s: the answer is not JSON", s.o.Path, name)
	}
	if found.Parameter.Value == "" {
		return "", secret.ErrNotSet
	}
	return found.Parameter.Value, nil
}

// passing reports whether an error says nothing about the parameter: no response, a fault of the
// service, or too many requests.
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
