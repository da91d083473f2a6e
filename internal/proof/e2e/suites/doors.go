package suites

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/client"
)

// doors: who comes in, and who does not.
func doors(ctx context.Context, t *Target, b *book) {
	health, err := t.client("").Health(ctx)
	b.check("the stack answers, without a token, that it is well", err)
	b.say("version %s", health.Version)
	b.check("a path that is no route is 404", t.answers(ctx, http.MethodGet, "/v2/runs", t.Token, http.StatusNotFound))
	b.check("a method that is no route is 404", t.answers(ctx, http.MethodDelete, "/v1/runs", t.Token, http.StatusNotFound))
	b.check("nobody without a token", t.answers(ctx, http.MethodGet, "/v1/runs", "", http.StatusUnauthorized))
	b.check("nobody with a token that is none", t.answers(ctx, http.MethodGet, "/v1/runs", "eyJhbGciOiJub25lIn0.e30.", http.StatusUnauthorized))
	b.check("whoever has a token", t.answers(ctx, http.MethodGet, "/v1/runs", t.Token, http.StatusOK))
	b.check("a link that nobody signed is refused", t.refuses(ctx, "/v1/approvals/bm90LWEtbGluaw"))
	if t.Platform == nil {
		return
	}
	old := t.Platform.Issuer.Token("late", t.Tenant, []string{"admin"}, -time.Second)
	b.check("nobody with a token that was good", t.answers(ctx, http.MethodGet, "/v1/runs", old, http.StatusUnauthorized))
	reader := t.Platform.Issuer.Token("reader", t.Tenant, []string{"read"}, time.Hour)
	_, err = t.client(reader).RunPage(ctx, client.RunFilter{})
	b.check("a reader may read", err)
	b.check("a reader may not start", t.forbidden(ctx, reader))
	nobody := t.Platform.Issuer.Token("x", t.Tenant, []string{"driver"}, time.Hour)
	b.check("a role that is none is good for nothing", t.answers(ctx, http.MethodGet, "/v1/runs", nobody, http.StatusForbidden))
}

func (t *Target) status(ctx context.Context, method, path, token, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, t.API+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Timeout: requestLimit}).Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

func (t *Target) answers(ctx context.Context, method, path, token string, want int) error {
	got, answer, err := t.status(ctx, method, path, token, "")
	if err == nil && got != want {
		err = fmt.Errorf("%s %s was answered with %d and not with %d: %s", method, path, got, want, answer)
	}
	return err
}

func (t *Target) refuses(ctx context.Context, path string) error {
	got, answer, err := t.status(ctx, http.MethodGet, path, "", "")
	if err == nil && (got < 400 || got >= 500) {
		err = fmt.Errorf("GET %s was answered with %d: %s", path, got, answer)
	}
	return err
}

func (t *Target) forbidden(ctx context.Context, token string) error {
	got, answer, err := t.status(ctx, http.MethodPost, "/v1/runs", token, `{"agent":"refund-desk","input":"x"}`)
	if err == nil && got != http.StatusForbidden {
		err = errors.Join(fmt.Errorf("POST /v1/runs was answered with %d and not with 403: %s", got, answer))
	}
	return err
}
