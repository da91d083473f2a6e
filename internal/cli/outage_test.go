package cli_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
)

func TestRunsSayThatTheModelDoesNotAnswer(t *testing.T) {
	since, next := wire.Time{Time: time.Now().Add(-time.Hour)}, wire.Time{Time: time.Now().Add(5*time.Hour + 30*time.Minute)}
	down := run("running", func(r *wire.Run) {
		r.WaitingOn, r.WaitingSince, r.NextAttemptAt, r.Code, r.Detail = "model", &since, &next, "model_unavailable", "the endpoint refused the connection"
	})
	s := newServer(t, map[string]http.HandlerFunc{readRun: answer(200, down), "GET /v1/runs": answer(200, wire.Page[wire.Run]{Items: []wire.Run{down}})})
	one := dormouse(t, s, "runs", runID)
	one.wantExit(t, cmdline.ExitOK)
	contains(t, one.stdout, "running (model_unavailable)", "model since "+since.UTC().Format("2006-01-02 15:04:05Z")+"; next attempt "+
		next.UTC().Format("2006-01-02 15:04:05Z")+", in 5h ", "the endpoint refused the connection")
	list := dormouse(t, s, "runs")
	list.wantExit(t, cmdline.ExitOK)
	contains(t, list.stdout, "running (model_unavailable)")
}
