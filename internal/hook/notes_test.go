package hook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
)

func talk(tenant, agent, run, asked, answered string) engine.MemoryRequest {
	return engine.MemoryRequest{RunRef: engine.RunRef{Tenant: tenant, Run: run, Agent: agent}, Messages: []core.Message{
		{Role: core.RoleUser, RunID: "run_before", Parts: core.TextParts("of another run")},
		{Role: core.RoleUser, RunID: run, Parts: core.TextParts(asked)},
		{Role: core.RoleAssistant, RunID: run, Parts: core.TextParts("Let me see."), Calls: []core.ToolCall{{ID: "c1", Name: "look", Arguments: []byte(`{}`)}}},
		{Role: core.RoleTool, RunID: run, CallID: "c1", Parts: core.TextParts("found")},
		{Role: core.RoleAssistant, RunID: run, Parts: core.TextParts(answered)},
	}}
}

func recall(t *testing.T, m engine.Memory, tenant, agent string) string {
	t.Helper()
	text, err := m.Recall(t.Context(), engine.MemoryRequest{RunRef: engine.RunRef{Tenant: tenant, Run: "run_new", Agent: agent}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func commit(t *testing.T, m engine.Memory, req engine.MemoryRequest) {
	t.Helper()
	if err := m.Commit(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func TestFileMemoryRecallsWhatWasAskedAndAnswered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data") // not made yet
	m := hook.FileMemory(dir)
	if text := recall(t, m, "t", "desk"); text != "" {
		t.Errorf("nothing is remembered yet: %q", text)
	}
	commit(t, m, talk("t", "desk", "run_1", "Refund\nA-17", "Done."))
	commit(t, m, talk("t", "desk", "run_2", "And B-02?", "Also."))
	commit(t, m, talk("t", "desk", "run_1", "Refund\nA-17", "Done.")) // given twice
	commit(t, m, talk("t", "other", "run_3", "secret of another agent", "x"))
	commit(t, m, talk("u", "desk", "run_4", "secret of another tenant", "x"))
	const want = "Earlier questions and answers, oldest first:\n" +
		"- asked: Refund A-17\n  answered: Done.\n- asked: And B-02?\n  answered: Also."
	if got := recall(t, hook.FileMemory(dir), "t", "desk"); got != want {
		t.Errorf("recalled %q", got)
	}
	if s, err := os.Stat(filepath.Join(dir, hook.NotesFile)); err != nil || s.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", s, err)
	}
}

func TestFileMemoryTakesTheOutputOfFinish(t *testing.T) {
	m := hook.FileMemory(t.TempDir())
	req := talk("t", "desk", "run_1", "Refund A-17", "I am done.")
	req.Messages[4].Calls = []core.ToolCall{{ID: "c2", Name: core.FinishTool, Arguments: []byte(`{"output":{"paid":5}}`)}}
	commit(t, m, req)
	if got := recall(t, m, "t", "desk"); !strings.Contains(got, `answered: {"paid":5}`) {
		t.Errorf("recalled %q", got)
	}
}

func TestFileMemoryKeepsTheLastTwenty(t *testing.T) {
	dir := t.TempDir()
	m := hook.FileMemory(dir)
	for i := range 25 {
		commit(t, m, talk("t", "desk", fmt.Sprintf("run_%d", i), fmt.Sprintf("question %02d", i), "yes"))
	}
	got := recall(t, m, "t", "desk")
	if n := strings.Count(got, "asked: "); n != 20 || strings.Contains(got, "question 04") || !strings.HasSuffix(got, "question 24\n  answered: yes") {
		t.Errorf("%d pairs: %s", n, got)
	}
}

func TestFileMemoryIsWrittenAnewWhenItIsLarge(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "{\"tenant\":\"t\",\"agent\":\"desk\",\"run\":\"run_%d\",\"asked\":\"question %03d\",\"answered\":%q}\n", i, i, strings.Repeat("long ", 800))
	}
	if err := os.WriteFile(filepath.Join(dir, hook.NotesFile), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m := hook.FileMemory(dir)
	commit(t, m, talk("t", "desk", "run_300", "question 300", strings.Repeat("long ", 2000)))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Fatalf("files %v, %v", left, err)
	}
	s, err := left[0].Info()
	if err != nil || s.Size() > 100<<10 || s.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes, %v, %v", s.Size(), s.Mode(), err)
	}
	got := recall(t, m, "t", "desk")
	if strings.Count(got, "asked: ") != 20 || !strings.Contains(got, "question 300") || strings.Contains(got, "question 280") {
		t.Error("not the last twenty are left")
	}
}

func TestFileMemoryOutlivesALineThatWasCutOff(t *testing.T) {
	dir := t.TempDir()
	m := hook.FileMemory(dir)
	commit(t, m, talk("t", "desk", "run_1", "first", "yes"))
	f, err := os.OpenFile(filepath.Join(dir, hook.NotesFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\n{\"tenant\":\"t\",\"agent\":\"de"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	commit(t, m, talk("t", "desk", "run_2", "second", "yes"))
	if got := recall(t, m, "t", "desk"); strings.Count(got, "asked: ") != 2 {
		t.Errorf("recalled %q", got)
	}
}

func TestFileMemoryIsSafeForConcurrentUse(t *testing.T) {
	m := hook.FileMemory(t.TempDir())
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			commit(t, m, talk("t", "desk", fmt.Sprintf("run_%d", i), "question", "yes"))
			recall(t, m, "t", "desk")
		})
	}
	wg.Wait()
	if n := strings.Count(recall(t, m, "t", "desk"), "asked: "); n != 16 {
		t.Errorf("%d pairs", n)
	}
}
