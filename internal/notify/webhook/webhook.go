// Package webhook sends notices over HTTP: it writes a body in the format of the endpoint, signs it
// as Standard Webhooks say, and makes one request. Connections go through package netguard, so a
// notice reaches public addresses only, unless both the target and the operator allow others.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/delivery"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
	"github.com/dormouse-dev/dormouse/internal/secret"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
	"github.com/dormouse-dev/dormouse/internal/tool/remote"
)

// Options are the surroundings of a sender. All but Agent and Limit are required.
type Options struct {
	Secrets secret.Source
	Guard   http.RoundTripper // a [netguard.Guard]
	Clock   engine.Clock
	Agent   string        // the User-Agent; "dormouse" if empty
	Limit   time.Duration // of one attempt; 10 seconds if zero
}

// Body writes a notice in the format of an endpoint. The values are those of the secrets that the
// target's texts name. Nil: there is nothing to send, and that is the delivery.
type Body func(n client.Notice, to notice.Target, values secret.Values) ([]byte, error)

// Sender implements notify.Sender for one format.
type Sender struct {
	o    Options
	body Body
}

// New returns a sender of bodies.
func New(o Options, body Body) *Sender {
	o.Agent = cmp.Or(o.Agent, "dormouse")
	o.Limit = cmp.Or(o.Limit, 10*time.Second)
	return &Sender{o, body}
}

// Send makes one attempt. The URL and what it holds are in no error.
func (s *Sender) Send(ctx context.Context, to notice.Target, n client.Notice) delivery.Result {
	req, access, err := s.request(ctx, to, n)
	if hopeless, is := errors.AsType[bodyError](err); is {
		return delivery.Result{Outcome: notice.Hopeless, Error: hopeless.Error()}
	}
	if errors.Is(err, errNothing) {
		return delivery.Result{Outcome: notice.Delivered}
	}
	if err != nil {
		return refused(err.Error())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.o.Clock.AfterFunc(s.o.Limit, func() { cancel(remote.ErrSlow) })()
	resp, err := s.o.Guard.RoundTrip(req.WithContext(netguard.Through(ctx, access)))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return refused(s.unreached(err))
	}
	defer resp.Body.Close()
	// what it says is of no use, but a receiver may count a connection that is cut as an error
	_, _ = io.CopyN(io.Discard, resp.Body, mostAnswer)
	return resultOf(resp.StatusCode)
}

// mostAnswer is how much of an answer is read.
const mostAnswer = 64 << 10

// request builds the request. An error is safe to show.
func (s *Sender) request(ctx context.Context, to notice.Target, n client.Notice) (*http.Request, netguard.Access, error) {
	var access netguard.Access
	values, err := s.o.Secrets.Values(ctx, to.Placeholders())
	if err != nil {
		return nil, access, err
	}
	at, ok := to.FilledURL(values)
	if !ok {
		return nil, access, errBadURL
	}
	body, err := s.body(n, to, values)
	if err != nil {
		return nil, access, bodyError{err}
	}
	if body == nil {
		return nil, access, errNothing
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {s.o.Agent}}
	pushHeaders(header, to.Push)
	if err := s.sign(ctx, header, to, n.ID, body); err != nil {
		return nil, access, err
	}
	// links are secrets, too: who has one can answer the call
	access = netguard.Access{Private: to.AllowPrivate, Clear: at.Scheme == "http" && (len(values) > 0 || n.Links != nil || to.Push != nil)}
	return &http.Request{Method: http.MethodPost, URL: at, Host: at.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}, access, nil
}

// sign adds the headers of Standard Webhooks, with a signature for each key that the secret holds.
// Without a secret it adds only those that tell attempts of one notice from another's.
func (s *Sender) sign(ctx context.Context, header http.Header, to notice.Target, id string, body []byte) error {
	now := s.o.Clock.Now()
	header.Set(signature.HeaderID, id)
	header.Set(signature.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	if to.Secret == "" {
		return nil
	}
	found, err := s.o.Secrets.Values(ctx, []string{to.Secret})
	if err != nil {
		return err
	}
	var keys [][]byte
	for _, text := range strings.Fields(found[to.Secret]) {
		key, err := signature.Key(signature.Standard, text)
		if err != nil {
			return fmt.Errorf("the secret %s can't sign: %w", to.Secret, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return fmt.Errorf("the secret %s holds no key", to.Secret)
	}
	header.Set(signature.HeaderSignature, signature.Sign(id, now, body, keys...))
	return nil
}
