package local

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// setPolicy writes the policy of the next start.
func (r *rig) setPolicy(text string) {
	r.t.Helper()
	r.policy = filepath.Join(r.t.TempDir(), "policy.yaml")
	if err := os.WriteFile(r.policy, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// TestAnApprovalDoesNotReachATargetThatIsDeniedSince: the run waits with the older version, in
// which the tool has another name than any rule of today could know.
func TestAnApprovalDoesNotReachATargetThatIsDeniedSince(t *testing.T) {
	for name, deny := range map[string]func(*rig){
		"by the policy": func(r *rig) {
			r.setPolicy("deny: [{target: 'http:POST 127.0.0.1/v1/orders/*', reason: payments are closed}]\n")
		},
		"by the version deployed now": func(r *rig) {
			r.deploy("name: desk\nmodel: {provider: scripted, turns: [{say: hi}]}\npermissions: {deny: [{target: 'http:127.0.0.1', reason: payments are closed}]}\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, o, got := httpRig(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "paid") })
			s := r.startWith(o)
			run := s.await(t, s.begin(t).ID, "waiting")
			s.end(t)
			deny(r)
			o.Policy = r.policy
			s = r.startWith(o)
			if _, err := s.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
				t.Fatal(err)
			}
			run = s.await(t, run.ID, "done")
			if text, _ := run.OutputText(); got.count() != 0 || !strings.Contains(text, "payments are closed") {
				t.Errorf("%d requests, output %q", got.count(), text)
			}
			s.end(t)
		})
	}
}

// TestARedirectDoesNotReachADeniedTarget: the tool's own host is allowed, and sends the call
// elsewhere.
func TestARedirectDoesNotReachADeniedTarget(t *testing.T) {
	closed, reached := payments(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret page") })
	door, _ := payments(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, closed.URL+"/admin", http.StatusFound)
	})
	host := strings.TrimPrefix(closed.URL, "http://")
	r := newRig(t, func(context.Context) error { return nil })
	r.deploy("name: desk\nmodel:\n  provider: scripted\n  turns:\n    - given: {no_result: true}\n      calls: [{tool: look}]\n" +
		"    - given: {result: '(?P<answer>.+)'}\n      say: \"It said ${answer}\"\n" +
		"tools:\n  - {name: look, http: {url: '" + door.URL + "/look', allow_private: true, retries: 0}, parameters: {type: object}}\npermissions: {allow: [look]}\n")
	for policy, want := range map[string]int{"deny: ['http:" + host + "/admin']\n": 0, "ask: ['http:" + host + "']\n": 0, "deny: ['http:" + host + "/other']\n": 1} {
		r.setPolicy(policy)
		o := r.options()
		o.Private, _ = netguard.ReadPrivate([]string{"127.0.0.1"})
		before := reached.count()
		s := r.startWith(o)
		run := s.await(t, s.begin(t).ID, "done")
		text, _ := run.OutputText()
		if n := reached.count() - before; n != want || (want == 0) != strings.Contains(text, "it redirected to "+host) {
			t.Errorf("%s: reached %d times, output %q", policy, n, text)
		}
		s.end(t)
	}
}

// TestADeniedCommandDoesNotRun: the operator allows commands, and a policy not this one.
func TestADeniedCommandDoesNotRun(t *testing.T) {
	r := newRig(t, nothing)
	work := filepath.Join(r.agents, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	r.deploy(allowed + "effects:\n  - {name: mark, tools: [pay], command: [touch, ran], workspace: work}\n")
	for policy, ran := range map[string]bool{"deny: ['command:touch']\n": false, "deny: [{target: 'command:*', reason: no commands}]\n": false, "deny: ['command:git']\n": true} {
		r.setPolicy(policy)
		o := r.options()
		o.Commands = true
		s := r.startWith(o)
		s.await(t, s.begin(t).ID, "done")
		s.end(t)
		if _, err := os.Stat(filepath.Join(work, "ran")); (err == nil) != ran {
			t.Errorf("%s: %v, want it to have run: %t", policy, err, ran)
		}
		_ = os.Remove(filepath.Join(work, "ran"))
	}
}
