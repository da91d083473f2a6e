package notice_test

import (
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

func TestIDsOfEndpointsAreTakenApart(t *testing.T) {
	for id, want := range map[string]notice.Endpoint{
		"wh_4v5k7q2m":                         {Source: notice.SourceTenant},
		notice.AgentEndpoint("desk", "pager"): {Source: notice.SourceAgent, Owner: "desk", Name: "pager"},
		notice.RunEndpoint("run_a_0", "ci"):   {Source: notice.SourceRun, Owner: "run_a_0", Name: "ci"},
		notice.SinkEndpoint("sns"):            {Source: notice.SourceSink, Name: "sns"},
	} {
		if got, ok := notice.ParseEndpoint(id); !ok || got != want {
			t.Errorf("%s: %+v, %v", id, got, ok)
		}
	}
	for _, id := range []string{"", "/", "pager", "agent", "agent/", "agent/desk", "agent/desk/", "agent//pager", "agent/desk/pager/", "agent/a/b/c", "run/a", "run/a/b/c",
		"sink", "sink/", "sink/a/b", "sink//", "mail/a/b", "Agent/a/b", "/agent/a/b"} {
		if got, ok := notice.ParseEndpoint(id); ok || got != (notice.Endpoint{}) {
			t.Errorf("%q: %+v", id, got)
		}
	}
}
