// Package awsapitest tests the functions that answer API callers on AWS: it invokes them with
// events in the form that AWS sends, and compares each response with the one stored next to the
// event.
package awsapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv/stack"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Environment is that of a function on a table of its own, with authorizer for JWT, the tenants
// acme and its agents of dir.
func Environment(t *testing.T, tools *tool.Registry, dir string) map[string]string {
	t.Helper()
	double := awsdouble.New(awsdouble.Options{})
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	if _, err := double.DynamoDB().CreateTable(t.Context(), dynamo.Schema("stack")); err != nil {
		t.Fatal(err)
	}
	store := dynamo.New(double.DynamoDB(), dynamo.Options{Table: "stack", Clock: machine.Clock{}, Random: machine.Random{}})
	if _, err := program.NewAgents(store, program.Program{Tools: tools, Dir: dir, Clock: machine.Clock{}}).Deploy(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"DORMOUSE_TABLE": "stack", "DORMOUSE_WAKE_QUEUE_URL": server.URL + "/123456789012/wake", "DORMOUSE_NOTIFY_QUEUE_URL": server.URL + "/123456789012/notify", "AWS_ENDPOINT_URL": server.URL,
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "none", "DORMOUSE_VERSION": "v1.2.3",
		"DORMOUSE_AUTH": stack.JWT, "DORMOUSE_TENANT_CLAIM": "custom:tenant", "DORMOUSE_ROLES_CLAIM": "cognito:groups",
		"DORMOUSE_ORIGINS": "https://desk.example", "DORMOUSE_STREAM_URL": "https://streams.example/"}
}

// Golden gives the event in a file to the handler, an [awsapi.Gateway] or an [awsapi.URL], and
// holds the answer against the file beside it, which it writes where update is set.
func Golden(t *testing.T, file string, handler any, update bool) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := answer(t, handler, raw)
	golden := strings.TrimSuffix(file, ".json") + ".golden"
	if update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not the answer to %s (%v); write it anew with -update\n%s", golden, file, err, got)
	}
}

// Events are the files of a directory that match the pattern. There is one at least.
func Events(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no event is %s: %v", pattern, err)
	}
	return files
}

func answer(t *testing.T, handler any, raw []byte) []byte {
	t.Helper()
	switch h := handler.(type) {
	case awsapi.Gateway:
		return indented(t, invoke(t, h, raw))
	case awsapi.URL:
		r := invoke(t, h, raw)
		defer r.Close()
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		head, text, _ := bytes.Cut(body, make([]byte, 8))
		return append(append(indented(t, json.RawMessage(head)), '\n'), text...)
	}
	t.Fatalf("%T is no handler", handler)
	return nil
}

func invoke[E, A any](t *testing.T, h func(context.Context, E) (A, error), raw []byte) A {
	t.Helper()
	var e E
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	got, err := h(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
