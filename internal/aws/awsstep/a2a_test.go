package awsstep

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// elsewhere is an agent over A2A that wants a key, finishes each task at once, and tells the key.
func elsewhere(t *testing.T) string {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Authorization")
		switch {
		case key != "Bearer "+planted:
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodGet:
			_, _ = fmt.Fprintf(w, `{"name":"reviewer","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, server.URL+"/a2a")
		default:
			var asked struct{ ID json.RawMessage }
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &asked)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},`+
				`"artifacts":[{"artifactId":"a1","parts":[{"text":%q}]}]}}}`, asked.ID, "read with "+key)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const editor = `
model:
  provider: scripted
  turns:
    - {given: {no_result: true}, calls: [{tool: review, arguments: {draft: A-1}}]}
    - {given: {result: "(?P<all>.*)"}, say: "Reviewed: ${all}"}
tools: [{name: review, a2a: {url: "%s", allow_private: true, headers: {Authorization: "Bearer {secret:SHOP}"}}, input: "the draft {draft}"}]
permissions: {allow: [review]}
`

func TestARunReachesAgentsElsewhereThatTheOperatorNames(t *testing.T) {
	b := newBeyond(t)
	reviewer := elsewhere(t)
	for _, named := range []bool{true, false} {
		environment := b.environment()
		environment["DORMOUSE_PRIVATE_HOSTS"] = "localhost:1"
		if named {
			environment["DORMOUSE_PRIVATE_HOSTS"] = strings.TrimPrefix(reviewer, "http://")
		}
		d := newDeployedWith(t, environment)
		d.deployText("editor", fmt.Sprintf(editor, reviewer))
		_, err := d.starter.Start(t.Context(), d.caller, "k", wire.StartRequest{Agent: "editor", Input: core.Encode("Have it reviewed")})
		d.must(err)
		d.pump()
		runs := d.runs()
		kept := ""
		for _, run := range runs {
			kept += d.kept(run.ThreadID)
		}
		if found := strings.Contains(kept, "Reviewed: read with Bearer [secret SHOP]"); found != named {
			t.Errorf("named: %t, found: %t, in %+v %s\nthe log:\n%s", named, found, runs, kept, d.out.String())
		}
		if strings.Contains(kept+d.out.String(), planted) {
			t.Errorf("the secret is in what is kept: %s\nthe log:\n%s", kept, d.out.String())
		}
	}
}
