package agui_test

import (
	"encoding/json"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/agui"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// TestSupply reads what clients send with each request. What the agent doesn't accept isn't read,
// and so isn't wrong.
func TestSupply(t *testing.T) {
	const full = `"tools":[{"name":"paint","description":"Paints.","parameters":{"type":"object"},"metadata":{"a":1}}],"context":[{"description":"page","value":"orders"}],"state":{"zoom":3}`
	for name, tt := range map[string]struct {
		input   string
		accepts []string
		want    string // empty: an error
	}{
		"all of it":            {full, supplied.Acceptable, `{"client_tools":[{"name":"paint","description":"Paints.","parameters":{"type":"object"}}],"context":[{"description":"page","value":"orders"}],"state":{"zoom":3}}`},
		"none of it":           {full, nil, `{}`},
		"tools":                {full, []string{supplied.AcceptTools}, `{"client_tools":[{"name":"paint","description":"Paints.","parameters":{"type":"object"}}]}`},
		"context":              {full, []string{supplied.AcceptContext}, `{"context":[{"description":"page","value":"orders"}]}`},
		"state":                {full, []string{supplied.AcceptState}, `{"state":{"zoom":3}}`},
		"nothing":              {`"tools":[],"context":[],"state":{}`, supplied.Acceptable, `{}`},
		"null":                 {`"tools":null,"context":null,"state":null`, supplied.Acceptable, `{}`},
		"a state of any kind":  {`"state":[1]`, supplied.Acceptable, `{"state":[1]}`},
		"a state as its key":   {`"state":{"dormouse.client":{"a":1},"cart":9}`, supplied.Acceptable, `{"state":{"dormouse.client":{"a":1},"cart":9}}`},
		"no tools":             {`"tools":"paint"`, supplied.Acceptable, ``},
		"no tools, unread":     {`"tools":"paint","context":7`, []string{supplied.AcceptState}, `{}`},
		"tools with no object": {`"tools":["paint"]`, supplied.Acceptable, ``},
		"no context":           {`"context":{"description":"page"}`, supplied.Acceptable, ``},
	} {
		t.Run(name, func(t *testing.T) {
			var in agui.Input
			if err := json.Unmarshal([]byte("{"+tt.input+"}"), &in); err != nil {
				t.Fatal(err)
			}
			read, err := in.Read(tt.accepts)
			if got := string(core.Encode(read)); err == nil && got != tt.want || (err != nil) != (tt.want == "") {
				t.Errorf("got %s, %v", got, err)
			}
			if in.Empty() != (name == "nothing" || name == "null") {
				t.Errorf("empty: %v", in.Empty())
			}
		})
	}
}

// TestSharedState shows client and agent what both have: the client's claims below what the agent
// has stored, and nothing again that the agent has removed.
func TestSharedState(t *testing.T) {
	snapshots := func(data ...string) []wire.Event {
		events := []wire.Event{{Seq: 1, RunID: "run_1_a", Type: string(core.EventRunStarted)}}
		for i, text := range data {
			events = append(events, wire.Event{Seq: int64(i + 2), RunID: "run_1_a", Turn: 1, Type: string(core.EventStateSnapshot), Data: json.RawMessage(text)})
		}
		return events
	}
	for name, tt := range map[string]struct {
		snapshots []string
		want      string
	}{
		"the client's":                  {[]string{`{"run":{"dormouse.client":{"zoom":3}},"thread":{}}`}, `{"zoom":3}`},
		"the agent's":                   {[]string{`{"run":{"a":1,"b":1},"thread":{"b":2,"c":3}}`}, `{"a":1,"b":1,"c":3}`},
		"both":                          {[]string{`{"run":{"dormouse.client":{"zoom":3,"cart":0},"cart":["A-2"]},"thread":{"name":"Ann"}}`}, `{"cart":["A-2"],"name":"Ann","zoom":3}`},
		"an echo of what was removed":   {[]string{`{"run":{"dormouse.client":{"zoom":3,"name":"Ann"}},"thread":{"name":"Ann"}}`, `{"run":{"dormouse.client":{"zoom":3,"name":"Ann"}},"thread":{}}`}, `{"zoom":3}`},
		"a key of the server's":         {[]string{`{"run":{"dormouse.client":{"dormouse.client":1}},"thread":{}}`}, `{"dormouse.client":1}`},
		"no object":                     {[]string{`{"run":{"dormouse.client":[1]},"thread":{}}`}, `[1]`},
		"no object, beside the agent's": {[]string{`{"run":{"dormouse.client":[1],"a":1},"thread":{}}`}, `{"a":1}`},
		"null, as a tool wrote it":      {[]string{`{"run":{"dormouse.client":null},"thread":{}}`}, `null`},
		"the thread's key of that name": {[]string{`{"run":{},"thread":{"dormouse.client":{"a":1}}}`}, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := agui.NewStream(agui.View{})
			shown := ""
			for _, e := range snapshots(tt.snapshots...) {
				events, err := s.Push(e)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if e.Type == agui.StateSnapshot {
						shown = string(e.Snapshot)
					}
				}
			}
			if shown != tt.want {
				t.Errorf("got %s, want %s", shown, tt.want)
			}
		})
	}
}
