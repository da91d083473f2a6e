package local

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// previewRig is an agent that changes a record of a service once somebody has said so.
func previewRig(t *testing.T) (*rig, Options, *sent) {
	t.Helper()
	service, got := payments(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			_, _ = io.WriteString(w, "www is 192.0.2.20")
		}
	})
	r := newRig(t, func(context.Context) error { return nil })
	r.deploy("name: desk\nmodel:\n  provider: scripted\n  turns:\n    - given: {no_result: true}\n      say: I will move www.\n" +
		"      calls: [{tool: set_dns, arguments: {name: www, ip: 192.0.2.99}}]\n    - {say: done}\ntools:\n" +
		"  - name: get_dns\n    http: {url: '" + service.URL + "/{name}?key=s3cret', allow_private: true, retries: 0}\n" +
		"    parameters: {type: object, properties: {name: {type: string}}, required: [name]}\n" +
		"  - name: set_dns\n    description: Sets an address.\n    http: {method: PUT, url: '" + service.URL + "/{name}?key=s3cret', allow_private: true}\n" +
		"    parameters: {type: object, properties: {name: {type: string}, ip: {type: string}}, required: [name, ip]}\n" +
		"    preview: {tool: get_dns, arguments: {name: '{name}'}}\npermissions: {allow: [get_dns], ask: [set_dns]}\n")
	o := r.options()
	o.Private, _ = netguard.ReadPrivate([]string{"127.0.0.1"})
	return r, o, got
}

func TestAnApproverSeesWhatIsThereAndWhereTheCallGoes(t *testing.T) {
	r, o, got := previewRig(t)
	s := r.startWith(o)
	defer s.end(t)
	run := s.await(t, s.begin(t).ID, "waiting")
	p := run.Pending[0]
	if got.count() != 1 || p.Preview == nil || *p.Preview != (wire.Preview{Text: "www is 192.0.2.20", Tool: "get_dns"}) {
		t.Fatalf("%d requests, %+v", got.count(), p.Preview)
	}
	if d := p.ToolDetails; d == nil || d.Kind != "http" || !strings.HasPrefix(d.Target, "PUT 127.0.0.1:") || strings.Contains(d.Target, "s3cret") || d.Description != "Sets an address." {
		t.Errorf("%+v", p.ToolDetails)
	}
	if p.Said != "I will move www." || len(p.Requests) != 1 {
		t.Errorf("%+v", p)
	}
	d := wire.Decision{Target: p.Suspension.ID, Action: "resume", Shown: p.Fingerprint}
	if _, err := s.Decide(t.Context(), run.ID, d); err != nil {
		t.Fatal(err)
	}
	s.await(t, run.ID, "done")
	if got.count() != 2 {
		t.Errorf("%d requests, want the preview and the change", got.count())
	}
}

func TestAPreviewObeysThePolicyOfToday(t *testing.T) {
	r, o, got := previewRig(t)
	r.setPolicy("deny: ['http:GET 127.0.0.1']\n")
	o.Policy = r.policy
	s := r.startWith(o)
	defer s.end(t)
	p := s.await(t, s.begin(t).ID, "waiting").Pending[0]
	if got.count() != 0 || p.Preview == nil || p.Preview.Failed != "The preview could not be made: a rule does not allow get_dns here." {
		t.Errorf("%d requests, %+v", got.count(), p.Preview)
	}
}
