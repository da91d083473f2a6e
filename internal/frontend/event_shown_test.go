package frontend_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/query"
)

func TestEventsAreShownInTheShapesOfTheAPI(t *testing.T) {
	for _, tt := range []struct {
		name          string
		of            core.EventType
		stored, shown string
	}{
		{"both scopes of a state, also an empty one", core.EventStateSnapshot, `{"thread":{"orders":2}}`, `{"run":{},"thread":{"orders":2}}`},
		{"a state with both scopes", core.EventStateSnapshot, `{"run":{"n":1},"thread":{"orders":2}}`, `{"run":{"n":1},"thread":{"orders":2}}`},
		{"a queued message without the bytes of its image", core.EventMessageQueued,
			`{"key":"m:1","by":"token:shop","via":"api","parts":[{"type":"text","text":"Is it this one?"},{"type":"image","media_type":"image/png","data":"AAEC"}]}`,
			`{"key":"m:1","parts":[{"type":"text","text":"Is it this one?"},{"type":"image","media_type":"image/png","bytes":3}],"by":"token:shop","via":"api"}`},
		{"a queued message without content", core.EventMessageQueued, `{"key":"m:1","parts":null}`, `{"key":"m:1","parts":[]}`},
		{"a call without times of its own", core.EventCallFailed, `{"call_id":"c1","status":"failed","updated_at":1500}`,
			`{"call_id":"c1","ended_at":"1970-01-01T00:00:02.000Z","status":"failed","updated_at":"1970-01-01T00:00:01.500Z"}`},
		{"what a tool wrote is not read as a time", core.EventCallSucceeded, `{"call_id":"c1","status":"succeeded","updated_at":1500,"ended_at":1000,"value":{"ended_at":1000}}`,
			`{"call_id":"c1","ended_at":"1970-01-01T00:00:01.000Z","status":"succeeded","updated_at":"1970-01-01T00:00:01.500Z","value":{"ended_at":1000}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			events := query.EventsOf(core.Segment{Seq: 1, Events: []core.Event{{Seq: 1, ThreadID: "thr_a", At: 2000, Type: tt.of, Data: json.RawMessage(tt.stored)}}}, false)
			if got := string(events[0].Data); got != tt.shown {
				t.Errorf("%s is shown as\n%s\nwant\n%s", tt.stored, got, tt.shown)
			}
			if got := string(core.Encode(events[0])); !strings.Contains(got, `"at":"1970-01-01T00:00:02.000Z"`) {
				t.Errorf("the event is %s", got)
			}
		})
	}
}

// A received message names its files, with their bytes where they are wanted.
func TestAReceivedMessageNamesItsFiles(t *testing.T) {
	s := core.Segment{Seq: 1, Messages: []core.Message{{ID: "m1", Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: "See."}, {Type: core.PartImage, Media: "image/png", Data: []byte{0, 1, 2}}}}},
		Events: []core.Event{{Seq: 1, ThreadID: "thr_a", Type: core.EventMessageReceived, Message: 1}}}
	for data, want := range map[bool]string{
		false: `{"message_id":"m1","text":"See.","parts":[{"type":"text","text":"See."},{"type":"image","media_type":"image/png","bytes":3}]}`,
		true:  `{"message_id":"m1","text":"See.","parts":[{"type":"text","text":"See."},{"type":"image","media_type":"image/png","bytes":3,"data":"AAEC"}]}`,
	} {
		if got := string(query.EventsOf(s, data)[0].Data); got != want {
			t.Errorf("with data %v, it is shown as\n%s\nwant\n%s", data, got, want)
		}
	}
}
