//go:build !noaws

package awscli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/proof/modeldouble"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

var asks = agent.Definition{Name: "desk", Model: agent.Model{Provider: agent.ProviderBedrock, ID: "m-1", Region: "eu-central-1"}}

// invokes is a tool that is a Lambda function.
func invokes(function string) agent.Tool {
	return agent.Tool{Name: "price", Lambda: &agent.Lambda{Function: function}, Parameters: json.RawMessage(`{"type":"object"}`)}
}

func question() engine.Prompt {
	return engine.Prompt{Tenant: "t", Thread: "thr", Run: "run", Step: 1, Messages: []core.Message{{Role: core.RoleUser, Parts: core.TextParts("Hello")}}}
}

func call() engine.ToolRequest {
	return engine.ToolRequest{Tenant: "t", Thread: "thr", Run: "run", Key: "k1", Call: core.ToolCall{ID: "c1", Name: "price", Arguments: json.RawMessage(`{}`)}, AtMostOnce: true}
}

// TestWithoutCredentialsAModelIsMadeAndSaysWhatToDo: a server starts on a machine that has none,
// and they can come later.
func TestWithoutCredentialsAModelIsMadeAndSaysWhatToDo(t *testing.T) {
	bare(t, nil)
	endpoint := httptest.NewServer(modeldouble.Bedrock(func(modeldouble.Asked) modeldouble.Said {
		return modeldouble.Said{Turn: core.Turn{Text: "Good day."}}
	}))
	defer endpoint.Close()
	t.Setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", endpoint.URL)
	var log bytes.Buffer
	m, err := NewAccount(slog.New(slog.NewTextHandler(&log, nil)), nil).Bedrock(asks)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Ask(t.Context(), question())
	if shown, ok := errors.AsType[*engine.ModelError](err); !ok || !strings.Contains(shown.Detail, "there are no AWS credentials; set AWS_PROFILE") {
		t.Fatalf("%v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", keyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", keySecret)
	turn, err := m.Ask(t.Context(), question())
	if err != nil || turn.Text != "Good day." {
		t.Errorf("with credentials: %q, %v\n%s", turn.Text, err, log.String())
	}
}

func TestWithoutARegionItIsSaidWhere(t *testing.T) {
	bare(t, map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": keySecret})
	d := asks
	d.Model.Region = ""
	m, err := NewAccount(slog.New(slog.DiscardHandler), nil).Bedrock(d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Ask(t.Context(), question())
	if shown, ok := errors.AsType[*engine.ModelError](err); !ok || !strings.Contains(shown.Detail, "set AWS_REGION, or region in the profile or the agent file") {
		t.Errorf("%v", err)
	}
}

func TestWhatTheSDKSaysOfItsFilesIsForTheLog(t *testing.T) {
	bare(t, nil)
	t.Setenv("AWS_MAX_ATTEMPTS", "many")
	var log bytes.Buffer
	m, err := NewAccount(slog.New(slog.NewTextHandler(&log, nil)), nil).Bedrock(asks)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Ask(t.Context(), question())
	shown, ok := errors.AsType[*engine.ModelError](err)
	if !ok || strings.Contains(shown.Detail, "many") || !strings.Contains(shown.Detail, "its log says why") || !strings.Contains(log.String(), "many") {
		t.Errorf("%v\n%s", err, log.String())
	}
}

func TestAFunctionThatWasNotInvokedForWantOfCredentialsIsSaidNotToHaveRun(t *testing.T) {
	bare(t, map[string]string{"AWS_REGION": "eu-central-1"})
	body, err := NewAccount(slog.New(slog.DiscardHandler), nil).Lambda(agent.Definition{Name: "desk"}, invokes("price-of"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := body.Run(t.Context(), call())
	if err != nil || !out.Failed || out.Ticket != nil || !strings.HasPrefix(out.Text, "The call did not run: there are no AWS credentials;") {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestAFunctionIsInvokedInItsRegionAndShowsNoCredentials: one that is named by its ARN need not be
// where the rest is.
func TestAFunctionIsInvokedInItsRegionAndShowsNoCredentials(t *testing.T) {
	bare(t, map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": keySecret, "AWS_SESSION_TOKEN": "session-token-of-a-test", "AWS_REGION": "eu-central-1"})
	var mu sync.Mutex
	var signedFor []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential="+keyID+"/")
		signedFor = append(signedFor, strings.Split(scope, "/")[1])
		_, _ = w.Write([]byte(`"I know ` + keySecret + ` and session-token-of-a-test and hunter2hunter2"`))
	}))
	defer service.Close()
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", service.URL)
	a := NewAccount(slog.New(slog.DiscardHandler), func() secret.Values { return secret.Values{"SHOP": "hunter2hunter2"} })
	for _, function := range []string{"price-of", "arn:aws:lambda:us-east-1:123456789012:function:price-of"} {
		body, err := a.Lambda(agent.Definition{Name: "desk"}, invokes(function))
		if err != nil {
			t.Fatal(err)
		}
		out, err := body.Run(t.Context(), call())
		if err != nil || out.Failed || strings.Contains(out.Text, keySecret) || strings.Contains(out.Text, "session-token") || strings.Contains(out.Text, "hunter2") ||
			!strings.Contains(out.Text, "[secret AWS_SECRET_ACCESS_KEY]") {
			t.Errorf("%s: %+v, %v", function, out, err)
		}
	}
	if strings.Join(signedFor, " ") != "eu-central-1 us-east-1" {
		t.Errorf("the regions are %v", signedFor)
	}
}

func TestAStopWhileCredentialsAreLookedForIsNoFailureOfTheModel(t *testing.T) {
	bare(t, nil)
	a := NewAccount(slog.New(slog.DiscardHandler), nil)
	m, err := a.Bedrock(asks)
	if err != nil {
		t.Fatal(err)
	}
	a.looking <- struct{}{} // somebody looks, and does not come to an end
	cause := errors.New("the worker stops")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	if _, err := m.Ask(ctx, question()); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}
