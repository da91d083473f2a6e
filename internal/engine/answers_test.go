package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

var thought = core.Part{Type: core.PartReasoning, Text: "first the echo", Provider: "p", Sealed: []byte{0, 0xff, '"', 0x80}}

func textPart(text string) core.Part { return core.Part{Type: core.PartText, Text: text} }

func placeOf(id string) core.Part { return core.Part{Type: core.PartCall, Call: id} }

func TestAnAnswerGoesBackAsItCame(t *testing.T) {
	for _, tt := range []struct {
		name          string
		content       []core.Part
		calls         []string
		stored, again []core.Part // as a message's parts, and as blocks
	}{
		{"reasoning before the text", []core.Part{thought, textPart("I echo."), placeOf("c1")}, []string{"c1"},
			[]core.Part{thought, textPart("I echo.")}, []core.Part{thought, textPart("I echo."), placeOf("c1")}},
		{"reasoning between two calls", []core.Part{placeOf("c1"), thought, placeOf("c2")}, []string{"c1", "c2"},
			[]core.Part{placeOf("c1"), thought}, []core.Part{placeOf("c1"), thought, placeOf("c2")}},
		{"text behind a call", []core.Part{placeOf("c1"), textPart("I wait.")}, []string{"c1"},
			[]core.Part{placeOf("c1"), textPart("I wait.")}, []core.Part{placeOf("c1"), textPart("I wait.")}},
		{"one id given twice", []core.Part{placeOf("c1"), thought, placeOf("c1"), textPart("Both.")}, []string{"c1", "c1"},
			[]core.Part{placeOf("c1"), thought, placeOf("c1_2"), textPart("Both.")}, []core.Part{placeOf("c1"), thought, placeOf("c1_2"), textPart("Both.")}},
		{"a place of a call that is not there", []core.Part{placeOf("gone"), textPart("Hm."), placeOf("c1")}, []string{"c1"},
			[]core.Part{textPart("Hm.")}, []core.Part{textPart("Hm."), placeOf("c1")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := core.Turn{Text: core.TextOf(tt.content), Content: tt.content}
			for _, id := range tt.calls {
				turn.Calls = append(turn.Calls, call(id, "echo", `{}`))
			}
			r := newRig(t, turn, says("done")).play()
			r.wantEnd(core.NaturalEnd, "")
			sent := r.prompt.Messages[1]
			if diff := cmp.Diff(tt.stored, sent.Parts); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.again, sent.Blocks()); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if sent.Text() != turn.Text {
				t.Errorf("the text is %q, want %q", sent.Text(), turn.Text)
			}
		})
	}
}

func TestReasoningIsToldToReadersWithoutItsSeal(t *testing.T) {
	r := newRig(t, core.Turn{Text: "hello", Content: []core.Part{thought, textPart("hello")}}).play()
	told := map[core.EventType]map[string]string{}
	for _, s := range r.journal() {
		for _, e := range s.Expand() {
			var data map[string]string
			if json.Unmarshal(e.Data, &data) == nil {
				told[e.Type] = data
			}
			if e.Type == core.EventReasoningEnded && strings.Contains(string(e.Data), "sealed") {
				t.Errorf("the seal is told: %s", e.Data)
			}
		}
	}
	run, message := r.head().Run, "msg_"+strings.TrimPrefix(r.head().Thread, "thr_")+"_2_1"
	want := map[core.EventType]map[string]string{
		core.EventReasoningEnded: {"part_id": run + ":reasoning-1", "text": "first the echo", "message_id": message},
		core.EventTextEnded:      {"part_id": run + ":text-1", "text": "hello", "message_id": message},
	}
	for kind, data := range want {
		if diff := cmp.Diff(data, told[kind]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestAnAnswerThatWasCutOffRunsNothing(t *testing.T) {
	cut := core.Turn{Text: "I pay no", Calls: []core.ToolCall{call("c1", "echo", `{"half`)},
		End: &core.Reason{Kind: core.Stopped, Code: "max_tokens", Detail: "the answer was cut off"}}
	r := newRig(t, cut, says("never asked")).play()
	r.wantEnd(core.Stopped, "max_tokens")
	r.wantRan()
	r.wantAsked(1)
	r.wantConversation("user: hi", "assistant[c1]: I pay no", "tool(c1): Not run: the run ended first (stopped: max_tokens).")
	wellFormed(t, core.TranscriptOf(r.log()))
}

func TestAnAnswerThatWasCutOffWithoutCallsIsNoNaturalEnd(t *testing.T) {
	r := newRig(t, core.Turn{Text: "The sum is", End: &core.Reason{Kind: core.Stopped, Code: "content_filtered"}}).play()
	r.wantEnd(core.Stopped, "content_filtered")
	r.wantConversation("user: hi", "assistant: The sum is")
}

func TestABusyModelIsAskedLaterAndNotForgotten(t *testing.T) {
	r := newRig(t, says("at last"))
	const busy = 30
	r.onAsk = func(context.Context, engine.Prompt) error {
		if r.asked <= busy {
			return &engine.TryLater{Detail: "the provider has no room", Busy: true, Cause: fmt.Errorf("secret cause")}
		}
		return nil
	}
	r.start("hi")
	r.waitOut()
	r.wantEnd(core.NaturalEnd, "")
	if n := r.count(core.EventStepReset); n != busy {
		t.Errorf("%d resets, want %d", n, busy)
	}
	for _, e := range r.events() {
		if strings.Contains(string(e.Data), "secret cause") {
			t.Errorf("the cause is told: %s", e.Data)
		}
	}
}

func TestAProviderIsLeftAloneForAsLongAsItWants(t *testing.T) {
	// half as much again, so that not all runs come back at once
	for _, tt := range []struct{ wants, least, most time.Duration }{
		{0, time.Second, 2 * time.Second},
		{90 * time.Second, 90 * time.Second, 135 * time.Second},
		{24 * time.Hour, 15 * time.Minute, 15 * time.Minute},
		{-time.Hour, time.Second, 2 * time.Second},
	} {
		r := newRig(t, says("done"))
		r.onAsk = func(context.Context, engine.Prompt) error {
			return &engine.TryLater{Detail: "busy", Busy: true, After: tt.wants}
		}
		r.start("hi")
		began := r.now()
		if report := r.step(); report.Status != core.RunRunning {
			t.Errorf("%s: the run is %s", tt.wants, report.Status)
		}
		if waits := time.Duration(r.head().NotBefore-began) * time.Millisecond; waits < tt.least || waits > tt.most {
			t.Errorf("the provider wants %s, the run waits %s", tt.wants, waits)
		}
		if h := r.head(); h.Lease != 0 || h.Status != core.RunRunning {
			t.Errorf("the invocation is not freed: %+v", h)
		}
	}
}

func TestUsageIsToldWithTheStep(t *testing.T) {
	for _, tt := range []struct {
		turn core.Turn
		want string
	}{
		{core.Turn{Text: "a", InputTokens: 9, OutputTokens: 2, CacheRead: 5, CacheWritten: 1}, `{"asked_at":1777593600000,"latency_ms":0,"usage":{"input_tokens":9,"output_tokens":2,"cache_read_tokens":5,"cache_write_tokens":1}}`},
		{core.Turn{Text: "a", NoUsage: true}, `{"asked_at":1777593600000,"latency_ms":0,"usage":null}`},
		{core.Turn{Text: "a"}, `{"asked_at":1777593600000,"latency_ms":0}`},
	} {
		r := newRig(t, tt.turn).play()
		for _, e := range r.events() {
			if e.Type == core.EventStepStarted && string(e.Data) != tt.want {
				t.Errorf("%+v: told %s, want %s", tt.turn, e.Data, tt.want)
			}
		}
	}
}

func TestALongResultIsCutWithANote(t *testing.T) {
	long := strings.Repeat("é", 400)
	r := newRig(t, calls(call("c1", "echo", `{}`)), says("done"))
	r.terms.Result = 101
	r.tool("echo", toolRule{effect: core.Allow, body: func(context.Context, engine.ToolRequest) (core.Outcome, error) {
		return core.Outcome{Text: long, Media: []core.Part{{Type: core.PartImage, Media: "image/png", Data: []byte{1, 2}}}}, nil
	}})
	r.play()
	got := r.log()[2]
	if text := got.Text(); len(text) > 101 || !strings.HasPrefix(text, "éé") || !strings.HasSuffix(text, "[cut off: the result has 800 bytes, and only its beginning is kept]") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	if n := len(got.Parts); n != 2 || string(got.Parts[1].Data) != "\x01\x02" {
		t.Errorf("the image is lost: %+v", got.Parts)
	}
}

func TestAnImageThatAnswersACallIsNotLost(t *testing.T) {
	image := core.Part{Type: core.PartImage, Media: "image/png", Data: []byte{1, 2}}
	for _, tt := range []struct {
		name   string
		parts  []core.Part
		result string
	}{
		{"with a text", []core.Part{textPart("this one"), image}, "this one"},
		{"alone", []core.Part{image}, "The user answered with the content that follows."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, calls(call("c1", "form", `{}`)), says("done"))
			r.suspending("form", core.UseDecisionAsToolResult, 1)
			r.play()
			r.wantCalls(map[string]core.CallStatus{"c1": core.CallSuspended})
			r.must(r.signal("m:m1", core.Signal{Kind: core.SignalMessage, ID: "m1", Value: core.Encode(tt.parts), At: r.now()}))
			r.work()
			r.wantEnd(core.NaturalEnd, "")
			sent := r.prompt.Messages
			if len(sent) != 4 || sent[2].Text() != tt.result || sent[3].Role != core.RoleUser {
				t.Fatalf("the model was sent %+v", sent)
			}
			if diff := cmp.Diff([]core.Part{image}, sent[3].Parts); diff != "" {
				t.Errorf("behind the result (-want +got):\n%s", diff)
			}
		})
	}
}
