package template_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/notify/template"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

var evil = `","admin":true,"x":"{secret:KEY} {id} \` + "\n"

func refund() client.Notice {
	return client.Notice{ID: "run_a_0:7", Type: client.NoticeSuspended, Approval: &client.Approval{RunID: "run_a_0",
		Pending: client.Pending{Tool: "refund", Said: evil, Arguments: json.RawMessage(`{"amount":12345678901234567890,"order":"A-17"}`), Requests: []client.Request{{Text: "first"}, {Text: "refund A-17"}}}}}
}

func TestATemplateIsFilledIn(t *testing.T) {
	for form, want := range map[string]string{
		`{"text":"May it run {approval.tool}?"}`:                              `{"text":"May it run refund?"}`,
		`{"args":"{approval.arguments}"}`:                                     `{"args":{"amount":12345678901234567890,"order":"A-17"}}`,
		`{"amount":"{approval.arguments.amount}"}`:                            `{"amount":12345678901234567890}`,
		`["{approval.requests.1.text}",7,true,null]`:                          `["refund A-17",7,true,null]`,
		`{"a":"{approval.preview.text}","b":"-{approval.preview.text}-"}`:     `{"a":null,"b":"--"}`,
		`{"a":"{approval.requests.9.text}","b":"{id.x}","c":"{approval.-1}"}`: `{"a":null,"b":null,"c":null}`,
		`{"{id}":"{{id}}"}`:                                                   `{"{id}":"{id}"}`,
		`{"routing_key":"{secret:KEY}","text":"args {approval.arguments}"}`:   `{"routing_key":"s3cret","text":"args {\"amount\":12345678901234567890,\"order\":\"A-17\"}"}`,
		`"{type}"`: `"suspended"`,
	} {
		got, err := template.Body(refund(), notice.Target{Template: json.RawMessage(form)}, secret.Values{"KEY": "s3cret"})
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", form, got, err, want)
		}
	}
}

// Text of others stays one string, and is not filled in itself.
func TestTextOfOthersChangesNoForm(t *testing.T) {
	got, err := template.Body(refund(), notice.Target{Template: json.RawMessage(`{"text":"it says {approval.said}"}`)}, secret.Values{"KEY": "s3cret"})
	var out map[string]string
	if err != nil || json.Unmarshal(got, &out) != nil || len(out) != 1 || out["text"] != "it says "+evil || strings.Contains(string(got), "s3cret") {
		t.Errorf("%s, %v", got, err)
	}
}

func TestATemplateThatCannotBeFilledInSaysWhy(t *testing.T) {
	for _, form := range []string{``, `{`, `{"a":"{"}`, `{"a":["{a b}"]}`, `{"a":"{secret:lower}"}`} {
		if _, err := template.Body(refund(), notice.Target{Template: json.RawMessage(form)}, nil); err == nil || !strings.HasPrefix(err.Error(), "the endpoint's template can't be ") {
			t.Errorf("%s: %v", form, err)
		}
	}
}
