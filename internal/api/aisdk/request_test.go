package aisdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/api/aisdk"
	"github.com/dormouse-dev/dormouse/internal/api/project"
	"github.com/dormouse-dev/dormouse/internal/api/project/projecttest"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// TestReadReply: SUS and CALL in the parts are those of the first call that waits.
func TestReadReply(t *testing.T) {
	for name, tt := range map[string]struct{ journal, part, want string }{
		"yes":                   {"approved", `"state":"approval-responded","approval":{"id":"SUS","approved":true,"reason":"ok"}`, `{"target":"SUS","action":"resume","reason":"ok"}`},
		"no, yes in letters":    {"approved", `"state":"approval-responded","approval":{"id":"SUS","approved":false,"Approved":true}`, `{"target":"SUS","action":"cancel"}`},
		"asked, in letters":     {"approved", `"state":"approval-requested","State":"approval-responded","approval":{"id":"SUS","approved":true}`, ``},
		"another, in letters":   {"approved", `"state":"approval-responded","approval":{"id":"SUS","approved":false},"Approval":{"id":"SUS","approved":true}`, `{"target":"SUS","action":"cancel"}`},
		"a result":              {"client-tool", `"state":"output-available","output":{"picked":"red"}`, `{"target":"SUS","action":"resume","result":{"picked":"red"}}`},
		"one like an approval":  {"client-tool", `"state":"output-available","output":{"approved":true}`, `{"target":"SUS","action":"resume","result":{"approved":true}}`},
		"a result that is null": {"client-tool", `"state":"output-available"`, `{"target":"SUS","action":"resume","result":null}`},
		"a result, in letters":  {"client-tool", `"state":"output-available","output":1,"Output":2`, `{"target":"SUS","action":"resume","result":1}`},
		"an error":              {"client-tool", `"state":"output-error","errorText":"closed"`, `{"target":"SUS","error":"closed"}`},
		"what came meanwhile":   {"client-tool", `"state":"output-available","output":1,"preliminary":true`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			run := &project.Run{}
			for _, e := range projecttest.Journals(t)[tt.journal].Stored() {
				if err := run.Push(e); err != nil {
					t.Fatal(err)
				}
				if run.Ended != nil {
					break
				}
			}
			q := run.Waiting()[0]
			ids := strings.NewReplacer("SUS", q.Suspension.ID, "CALL", q.CallID)
			var m aisdk.Message
			if err := json.Unmarshal([]byte(ids.Replace(`{"parts":[{"type":"tool-x","toolCallId":"CALL",`+tt.part+`}]}`)), &m); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, d := range aisdk.ReadReply(m, run).Decisions {
				got += string(core.Encode(d))
			}
			if want := ids.Replace(tt.want); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
