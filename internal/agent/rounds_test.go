package agent_test

import (
	"slices"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core/stoprule"
)

func TestRoundsAreBoundedUnlessTheFileLiftsThat(t *testing.T) {
	byDefault := stoprule.Spec{Type: "max_rounds", Rounds: 50}
	lifted := stoprule.Spec{Type: "max_rounds"}
	tokens := stoprule.Spec{Type: "token_budget", MaxTotal: 9}
	for stop, want := range map[string]struct {
		rules     []stoprule.Spec
		unbounded bool
	}{
		"":                                {[]stoprule.Spec{byDefault}, false},
		"stop: []":                        {[]stoprule.Spec{byDefault}, false},
		"stop: [{token_budget: 9}]":       {[]stoprule.Spec{tokens, byDefault}, false},
		"stop: [{timeout: 1m}]":           {[]stoprule.Spec{{Type: "timeout", Seconds: 60}, byDefault}, false},
		"stop: [{max_rounds: 200}]":       {[]stoprule.Spec{{Type: "max_rounds", Rounds: 200}}, false},
		"stop: [{max_rounds: unlimited}]": {[]stoprule.Spec{lifted}, true},
		"stop: [{max_rounds: 0}]":         {[]stoprule.Spec{lifted}, true},
		"stop: [{consecutive_errors: 3}, {type: max_rounds, rounds: unlimited}]": {[]stoprule.Spec{{Type: "consecutive_errors", Max: 3}, lifted}, true},
		"stop: [{max_rounds: unlimited}, {token_budget: 9}]":                     {[]stoprule.Spec{lifted, tokens}, false},
		"stop: [{max_rounds: unlimited}, {timeout: 10m}]":                        {[]stoprule.Spec{lifted, {Type: "timeout", Seconds: 600}}, false},
	} {
		d := parse(t, head+stop+"\n")
		if !slices.Equal(d.Stop, want.rules) || d.Unbounded() != want.unbounded {
			t.Errorf("%q: rules %+v, unbounded %v", stop, d.Stop, d.Unbounded())
		}
		stored, err := agent.Decode(d.Encode())
		if err != nil || !slices.Equal(stored.Stop, want.rules) {
			t.Errorf("%q: stored as %+v (%v)", stop, stored.Stop, err)
		}
	}
}

func TestAVersionFromBeforeTheDefaultKeepsItsRounds(t *testing.T) {
	d, err := agent.Decode([]byte(`{"name":"a","model":{"provider":"scripted"},"permissions":{"default":"ask"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if stops := ready(t, d, agent.Layers{}).Terms().Stops; len(stops) != 0 {
		t.Errorf("a run that is pinned to it is stopped by %v", stops)
	}
}

func TestOutageIsTheModels(t *testing.T) {
	d := parse(t, "name: a\nmodel: {provider: openai, base_url: 'http://127.0.0.1:1/v1', model: m, outage: 90m}\n")
	if ms := ready(t, d, agent.Layers{}).Terms().Outage; ms != 90*60_000 {
		t.Errorf("a run waits for %d ms", ms)
	}
	d = parse(t, head)
	if ms := ready(t, d, agent.Layers{}).Terms().Outage; ms != 0 {
		t.Errorf("without it a run waits for %d ms", ms)
	}
}
