package bedrock_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/model/bedrock"
)

// TestExpiredCredentialsOfTheWorkerEndNoRun: somebody renews them, and it is no use to ask again
// before. What looks like one of them is in no log.
func TestExpiredCredentialsOfTheWorkerEndNoRun(t *testing.T) {
	const looksSecret = "FwoGZXIvYXdzEBYaDKt7planted0123456789abcdefghijklmnop"
	requests := 0
	var log bytes.Buffer
	model, err := bedrock.New(client(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Amzn-Errortype", "ExpiredTokenException")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"message":"What you sent, `+looksSecret+` of ASIAPLANTED0123456, has expired"}`)
	})), bedrock.Options{Model: agent.Model{ID: "m"}, Clock: newClock(), Random: random{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = model.Ask(t.Context(), prompt(user("Hi."))); !errors.Is(err, engine.ErrTryAgain) || requests != 1 {
		t.Errorf("after %d requests: %v", requests, err)
	}
	if !strings.Contains(log.String(), "has expired") || strings.Contains(log.String(), "planted0123") || strings.Contains(log.String(), "ASIAPLANTED") {
		t.Errorf("the log: %s", log.String())
	}
}
