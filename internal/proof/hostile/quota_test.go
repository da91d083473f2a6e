//go:build linux

package hostile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

const asks = `
name: asks
tenants: [acme, evil]
model: {provider: scripted, turns: [{given: {no_result: true}, calls: [{tool: pay, arguments: {}}]}, {given: {tool: pay}, say: Done.}]}
tools: [{name: pay, description: Pays., client: true, parameters: {type: object, properties: {}}}]
permissions: {allow: [pay]}
`

// A tenant that has stored what it may is refused, and nobody else is. Its own runs can still be
// answered and ended.
func TestATenantThatFillsItsQuotaStopsNobodyElse(t *testing.T) {
	acme, evil := tenants(t, map[string]string{"asks": asks, "quick": "name: quick\ntenants: [acme, evil]\nmodel: {provider: scripted, turns: [{say: Hello.}]}\n"},
		"--tenant-bytes", "8MiB")
	waiting := begin(t, evil, "asks")
	large := fmt.Appendf(nil, "%q", long[:900_000])
	stored := 0
	for ; stored < 100; stored++ {
		_, err := evil.StartRun(t.Context(), wire.StartRequest{Agent: "quick", Input: large}, "")
		if err == nil {
			continue
		}
		wantProblem(t, err, 507, "tenant_storage_full", "--tenant-bytes")
		break
	}
	if stored < 2 || stored > 9 {
		t.Errorf("%d inputs of 900 kB were taken, with a quota of 8 MiB", stored)
	}
	run := done(t, acme, begin(t, acme, "quick").ID)
	if text, _ := run.OutputText(); text != "Hello." {
		t.Errorf("another tenant's run said %q", text)
	}
	answered(t, evil, waiting.ID)
}

func TestATenantWithTooManyOpenRunsStopsNobodyElse(t *testing.T) {
	acme, evil := tenants(t, map[string]string{"asks": asks}, "--tenant-runs", "3")
	var runs []wire.Run
	for range 3 {
		runs = append(runs, begin(t, evil, "asks"))
	}
	_, err := evil.StartRun(t.Context(), wire.StartRequest{Agent: "asks", Input: []byte(`"go"`)}, "")
	wantProblem(t, err, 429, "tenant_too_many_open_runs", "--tenant-runs")
	begin(t, acme, "asks")
	answered(t, evil, runs[0].ID)
	begin(t, evil, "asks")
}

func wantProblem(t *testing.T, err error, status int, code, detail string) {
	t.Helper()
	var p *client.Error
	if !errors.As(err, &p) || p.Status != status || p.Code != code || !strings.Contains(p.Detail, detail) {
		t.Fatalf("got %v, want %d %s", err, status, code)
	}
}

// answered waits for the run's call, answers it, and waits for the run's end.
func answered(t *testing.T, c *client.Client, id string) {
	t.Helper()
	for range 20 {
		run, err := c.PollRun(t.Context(), id, 20*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(run.Pending) == 0 {
			continue
		}
		answer := wire.Decision{Target: run.Pending[0].Suspension.ID, Result: []byte(`{"paid":true}`)}
		if _, err := c.Decide(t.Context(), id, answer); err != nil {
			t.Fatal(err)
		}
		done(t, c, id)
		return
	}
	t.Fatalf("run %s waits for nothing", id)
}
