package recording_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/model/recording"
)

// thread is one with two runs, as the API shows it: an image comes in and one comes back, the model
// thinks, a call is denied, and the user says something while another one waits.
var thread = []wire.Message{
	{RunID: "run_a_0", Role: "user", Text: "what is this?", Parts: []wire.Part{{Type: "image", MediaType: "image/png", Bytes: 3, Data: []byte{0, 1, 2}},
		{Type: "text", Text: "what is this?"}, {Type: "document", MediaType: "application/pdf", Name: "Order", Bytes: 1, Data: []byte{9}}}},
	{RunID: "run_a_0", Role: "assistant", Text: "Let me see.", Parts: []wire.Part{{Type: "reasoning", Text: "a cup?"}, {Type: "text", Text: "Let me see."}},
		ToolCalls: []wire.ToolCall{{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"n":1.10}`)}, {ID: "c2", Name: "pay", Arguments: json.RawMessage(`"not JSON"`)}}},
	{RunID: "run_a_0", Role: "tool", CallID: "c2", Tool: "pay", Text: "waits for an approval", Pending: true},
	{RunID: "run_a_0", Role: "user", Text: "hurry"},
	{RunID: "run_a_0", Role: "tool", CallID: "c1", Tool: "look", Text: "seen", Parts: []wire.Part{{Type: "text", Text: "seen"},
		{Type: "image", MediaType: "image/gif", Bytes: 1, Data: []byte{7}}}},
	{RunID: "run_a_0", Role: "tool", CallID: "c2", Tool: "pay", Text: "denied: not now", Error: true},
	{RunID: "run_a_0", Role: "assistant", Text: "A cup."},
	{RunID: "run_a_1", Role: "user", Text: "thanks"},
	{RunID: "run_a_1", Role: "assistant", Text: "You are welcome."},
}

func TestAThreadIsRecordedAtTheEndOfARun(t *testing.T) {
	c, err := recording.FromThread("thr_a", "run_a_0", "be kind", thread)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := recording.Write(&file, []recording.Conversation{c}); err != nil {
		t.Fatal(err)
	}
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"}}`
	for _, part := range []string{image, `{"type":"file","file":{"filename":"Order","file_data":"data:application/pdf;base64,CQ=="}}`, `"reasoning_content":"a cup?"`,
		`"content":"denied: not now"`, `"run":"run_a_0"`} {
		if !strings.Contains(file.String(), part) {
			t.Errorf("%s is not in %s", part, file.String())
		}
	}
	if strings.Contains(file.String(), "thanks") || strings.Contains(file.String(), "waits for an approval") {
		t.Errorf("what came later, or was replaced, is in %s", file.String())
	}
	read, err := recording.Read(&file, "f")
	if err != nil {
		t.Fatal(err)
	}
	got := read[0]
	if diff := cmp.Diff(c.Messages, got.Messages, cmpopts.IgnoreFields(core.Message{}, "RunID", "Error")); diff != "" || got.System != "be kind" || got.Run != "run_a_0" {
		t.Errorf("read again: %q %q (-want +got):\n%s", got.System, got.Run, diff)
	}
	for _, m := range recording.Compare(got, play(t, got)) {
		t.Errorf("played back: %s", m)
	}
}

func TestImagesAreCompared(t *testing.T) {
	c, err := recording.FromThread("thr_a", "run_a_0", "", thread)
	if err != nil {
		t.Fatal(err)
	}
	other := append([]core.Message(nil), c.Messages...)
	other[0].Parts = append([]core.Part(nil), other[0].Parts...)
	other[0].Parts[0].Data = []byte{0, 1, 3}
	if found := recording.Compare(c, other); len(found) != 1 || found[0].Field != "content" {
		t.Errorf("found %v", found)
	}
}

func TestARunThatCannotBeRecordedIsRefused(t *testing.T) {
	twice := append([]wire.Message(nil), thread[:7]...)
	twice = append(twice, wire.Message{RunID: "run_a_0", Role: "assistant", Text: "And another thing."})
	if _, err := recording.FromThread("thr_a", "run_a_0", "", twice); err == nil || !strings.Contains(err.Error(), "thr_a cannot be recorded: message 7") {
		t.Errorf("error %v", err)
	}
	if _, err := recording.FromThread("thr_a", "run_a_9", "", thread); err == nil || !strings.Contains(err.Error(), "run_a_9 has no message") {
		t.Errorf("error %v", err)
	}
}

// Runs of one thread may be recorded in any order, some of them twice: the file has the thread
// once, as far as it was recorded.
func TestTheLongestOfAThreadCounts(t *testing.T) {
	lines := map[string]string{}
	for _, run := range []string{"run_a_0", "run_a_1"} {
		c, err := recording.FromThread("thr_a", run, "", thread)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := recording.Write(&b, []recording.Conversation{c}); err != nil {
			t.Fatal(err)
		}
		lines[run] = b.String()
	}
	other := line(usr, bot) + "\n"
	for _, order := range [][]string{{"run_a_0", "run_a_1"}, {"run_a_1", "run_a_0"}, {"run_a_0", "run_a_1", "run_a_1", "run_a_0"}} {
		text := other
		for _, run := range order {
			text += lines[run] + other
		}
		found := read(t, text)
		threads := 0
		for _, c := range found {
			if c.Run != "" {
				threads++
				if c.ID != "thr_a" || c.Run != "run_a_1" || len(c.Messages) != 8 {
					t.Errorf("%v: %s %s with %d messages", order, c.ID, c.Run, len(c.Messages))
				}
			}
		}
		if threads != 1 || len(found) != len(order)+2 {
			t.Errorf("%v: %d conversations, %d of them threads", order, len(found), threads)
		}
	}
}

func TestManyWritersOfOneFileLoseNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made.jsonl")
	if err := recording.CanAppend(file); err != nil {
		t.Fatal(err)
	}
	all := recording.Generate(5, 40, recording.GenerateOptions{})
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			if err := recording.Append(file, c); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]recording.Conversation{}
	for _, c := range read(t, string(text)) {
		found[c.ID] = c
	}
	for _, c := range all {
		for _, m := range recording.Compare(c, recording.UniqueIDs(found[c.ID].Messages)) {
			t.Error(m)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

func TestALineBeginsBehindWhatACrashLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made.jsonl")
	if err := os.WriteFile(file, []byte(line(usr, bot)+"\n"+line(usr, bot)[:20]), 0o600); err != nil {
		t.Fatal(err)
	}
	c := recording.Generate(5, 1, recording.GenerateOptions{})[0]
	if err := recording.Append(file, c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if _, err := recording.Read(strings.NewReader(lines[len(lines)-1]), "f"); len(lines) != 3 || err != nil {
		t.Errorf("%d lines, %v:\n%s", len(lines), err, text)
	}
	if _, err := recording.Read(bytes.NewReader(text), "f"); err == nil || !strings.HasPrefix(err.Error(), "f:2: ") {
		t.Errorf("the torn line is taken: %v", err)
	}
}

func TestAFileThatCannotBeWrittenIsAnError(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{dir, filepath.Join(dir, "none", "made.jsonl")} {
		if err := recording.CanAppend(file); err == nil {
			t.Error(fmt.Sprint(file, " can be written"))
		}
	}
}
