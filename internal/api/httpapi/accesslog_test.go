package httpapi_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/frontendtest"
)

// lines is what was logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take is the text so far, which is forgotten.
func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func TestALineOfTheAccessLogSaysWhatWasAskedAndNothingSecret(t *testing.T) {
	var log lines
	s := newServer(t, settings{token: "a-secret-token", options: func(o *httpapi.Options) {
		withLinks(o)
		o.Access = slog.New(slog.NewJSONHandler(&log, nil))
	}})
	run := s.start()
	sus := s.worker.Suspend(run.ID, frontendtest.Call{ID: "c1", Tool: "refund", Kind: core.KindApproval})["c1"]
	log.take()
	for _, tt := range []struct {
		method, path, token string
		route, tenant       string
		status              int
	}{
		{"GET", "/v1/runs/" + run.ID + "?x=a-secret-query", "a-secret-token", "/v1/runs/{id}", "default", 400},
		{"GET", "/v1/runs/" + run.ID, "a-secret-token", "/v1/runs/{id}", "default", 200},
		{"GET", "/v1/runs/" + run.ID, "another-secret", "/v1/runs/{id}", "", 401},
		{"GET", s.linkTo(run.ID, sus), "", "/v1/approvals/{token}", "default", 410},
		{"GET", "/v1/streams/" + ticketFor(run.ID), "", "/v1/streams/{ticket}", "default", 200},
		{"GET", "/v2/a-secret-path", "a-secret-token", "", "default", 404},
		{"PATCH", "/v1/runs", "a-secret-token", "", "default", 405},
	} {
		s.unchecked(tt.method, tt.path, "", bearer(tt.token))
		text := log.take()
		var line struct {
			Method, Route, Tenant string
			Status                int
			Took                  *int `json:"duration_ms"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%s: %v: %q", tt.path, err, text)
		}
		if line.Method != tt.method || line.Route != tt.route || line.Tenant != tt.tenant || line.Status != tt.status || line.Took == nil {
			t.Errorf("%s %s: %s", tt.method, tt.path, text)
		}
		if strings.Contains(text, "secret") || strings.Contains(text, run.ID) {
			t.Errorf("%s: the line says too much: %s", tt.path, text)
		}
	}
}
