package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// stepped is the machine's clock, on which the pauses between two looks at agent files last until
// the test ends them.
type stepped struct {
	machine.Clock
	asleep, wake chan struct{}
}

func newStepped() *stepped { return &stepped{asleep: make(chan struct{}), wake: make(chan struct{})} }

// Sleep replaces that of every loop of the server, see [engine.Sleep].
func (c *stepped) Sleep(ctx context.Context, d time.Duration) error {
	if d != reloadPeriod {
		woken := make(chan struct{})
		stop := c.AfterFunc(d, func() { close(woken) })
		defer stop()
		select {
		case <-woken:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, ch := range []chan struct{}{c.asleep, c.wake} {
		select {
		case ch <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// look lets the server look at the files n times, and returns when it has.
func (c *stepped) look(n int) {
	for range n {
		<-c.wake
		<-c.asleep
	}
}

// watched is a server that looks at its agent files when the test says so, and what it reported.
type watched struct {
	running
	rig   *rig
	clock *stepped

	mu      sync.Mutex
	reports []string
}

func (r *rig) watch(change ...func(*Options)) *watched {
	r.t.Helper()
	w := &watched{rig: r, clock: newStepped()}
	o := r.options()
	o.Watch, o.clock, o.elapsed, o.Reloaded = true, w.clock, machine.Elapsed, w.hear
	for _, c := range change {
		c(&o)
	}
	w.running = r.startWith(o)
	<-w.clock.asleep
	return w
}

func (w *watched) hear(changes []program.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range changes {
		line := c.Name + " " + string(c.What)
		for _, p := range c.Problems {
			line += fmt.Sprintf(" %s:%d: %s", filepath.Base(p.File), p.Line, p.Text)
		}
		w.reports = append(w.reports, line)
	}
}

// reported holds what was reported since the last time to what is wanted.
func (w *watched) reported(want ...string) {
	w.rig.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.reports) != len(want) {
		w.rig.t.Fatalf("reported %q, want %q", w.reports, want)
	}
	for i, line := range w.reports {
		if !strings.HasPrefix(line, want[i]) {
			w.rig.t.Errorf("reported %q, want %q", line, want[i])
		}
	}
	w.reports = nil
}

// says is what a new run of the talker says.
func (w *watched) says() string {
	w.rig.t.Helper()
	run, err := w.StartRun(w.rig.t.Context(), wire.StartRequest{Agent: "talker", Input: []byte(`"hi"`)}, "")
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Code
	}
	if err != nil {
		w.rig.t.Fatal(err)
	}
	text, _ := w.await(w.rig.t, run.ID, "done").OutputText()
	return text
}

func talking(text string) string {
	return "model: {provider: scripted, turns: [{say: " + text + "}]}\n"
}

func TestAChangedFileCountsForNewRunsAndNotForThoseThatWait(t *testing.T) {
	r, paid := countingRig(t)
	r.deploy(asked)
	w := r.watch()
	before := w.await(t, w.begin(t).ID, "waiting")

	r.deploy(strings.ReplaceAll(allowed, "say: Done.", "say: Paid."))
	w.clock.look(1)
	w.reported()
	w.clock.look(1)
	w.reported("desk reloaded")

	after := w.await(t, w.begin(t).ID, "done")
	if text, _ := after.OutputText(); text != "Paid." || after.AgentVersion == before.AgentVersion || paid.Load() != 1 {
		t.Errorf("a new run of version %s, after %s, says %q; paid %d times", after.AgentVersion, before.AgentVersion, text, paid.Load())
	}
	if _, err := w.Decide(t.Context(), before.ID, wire.Decision{Target: before.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	done := w.await(t, before.ID, "done")
	if text, _ := done.OutputText(); text != "Done." || done.AgentVersion != before.AgentVersion || paid.Load() != 2 {
		t.Errorf("the run that waited goes on in %s and says %q; paid %d times", done.AgentVersion, text, paid.Load())
	}
	if one, err := w.Agent(t.Context(), "desk"); err != nil || one.Version != after.AgentVersion {
		t.Errorf("the agent is listed in version %s, %v", one.Version, err)
	}
}

func TestAMistakeLeavesTheVersionBeforeInUseUntilItIsCorrected(t *testing.T) {
	r := newRig(t, nothing)
	r.put("talker.yaml", talking("one"))
	r.put("other.yaml", talker)
	w := r.watch()
	r.put("talker.yaml", talking("two")+"tolls: []\n")
	w.clock.look(4)
	w.reported("talker refused talker.yaml:2: ")
	if got := w.says(); got != "one" {
		t.Errorf("with a mistake in the file, a run says %q", got)
	}
	if reason := without(t, w.running, "talker"); reason != "" {
		t.Errorf("the agent is listed as unavailable: %s", reason)
	}
	for _, want := range []string{"a changed agent file has a mistake", "talker.yaml:2: ", "tolls"} {
		if !strings.Contains(r.log.text(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	r.put("talker.yaml", talking("two"))
	w.clock.look(2)
	w.reported("talker reloaded")
	if got := w.says(); got != "two" {
		t.Errorf("corrected, a run says %q", got)
	}
	r.put("talker.yaml", talking("two")+"tolls: []\n")
	w.clock.look(2)
	r.put("talker.yaml", talking("two"))
	w.clock.look(2)
	w.reported("talker refused", "talker corrected")
}

func TestAFileThatIsRemovedTakesItsAgentFromNewRunsOnly(t *testing.T) {
	r, paid := countingRig(t)
	r.deploy(asked)
	r.put("talker.yaml", talking("one"))
	w := r.watch()
	run := w.await(t, w.begin(t).ID, "waiting")
	if err := os.Remove(filepath.Join(r.agents, "desk.yaml")); err != nil {
		t.Fatal(err)
	}
	w.clock.look(2)
	w.reported("desk removed")
	_, err := w.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: []byte(`"pay"`)}, "")
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != "agent_not_found" {
		t.Errorf("a removed agent is started: %v", err)
	}
	if _, err := w.Decide(t.Context(), run.ID, wire.Decision{Target: run.Pending[0].Suspension.ID, Action: "resume"}); err != nil {
		t.Fatal(err)
	}
	if done := w.await(t, run.ID, "done"); done.Error != nil || paid.Load() != 1 {
		t.Errorf("the run that waited ended with %+v; paid %d times", done.Error, paid.Load())
	}
	if !strings.Contains(r.log.text(), "an agent was removed") {
		t.Error("the log does not say it")
	}
	r.deploy(allowed)
	w.clock.look(2)
	w.reported("desk added")
	w.await(t, w.begin(t).ID, "done")
}

// Editors write beside the file and rename, or move it away first. What is there for a moment only
// does not count.
func TestEditorsMayWriteAsTheyDo(t *testing.T) {
	r := newRig(t, nothing)
	file := filepath.Join(r.agents, "talker.yaml")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r.put("talker.yaml", talking("one"))
	w := r.watch()

	r.put(".talker.yaml.swp", talking("two"))
	r.put("talker.yaml~", talking("two"))
	w.clock.look(2)
	w.reported()
	must(os.Rename(filepath.Join(r.agents, ".talker.yaml.swp"), file))
	w.clock.look(2)
	w.reported("talker reloaded")
	if got := w.says(); got != "two" {
		t.Errorf("renamed over the file, a run says %q", got)
	}

	must(os.Rename(file, file+"~")) // moved away, and written anew
	w.clock.look(1)
	r.put("talker.yaml", "")
	w.clock.look(1)
	half := talking("three") + "instructions: Be br"
	r.put("talker.yaml", half[:20])
	w.clock.look(1)
	r.put("talker.yaml", half)
	w.clock.look(1)
	w.reported()
	r.put("talker.yaml", half+"ief.\n")
	w.clock.look(1)
	w.reported()
	w.clock.look(1)
	w.reported("talker reloaded")
	if got := w.says(); got != "three" {
		t.Errorf("written anew, a run says %q", got)
	}
}

// The size and the time of a file may be those of the one that it takes the place of.
func TestAFileOfTheSameSizeAndTimeIsNoticed(t *testing.T) {
	r := newRig(t, nothing)
	file := filepath.Join(r.agents, "talker.yaml")
	long := time.Now().Add(-time.Hour)
	age := func(file string) {
		t.Helper()
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	r.put("talker.yaml", talking("one"))
	age(file)
	w := r.watch()
	r.put("other", talking("two"))
	age(filepath.Join(r.agents, "other"))
	if err := os.Rename(filepath.Join(r.agents, "other"), file); err != nil {
		t.Fatal(err)
	}
	w.clock.look(2)
	w.reported("talker reloaded")
	r.put("talker.yaml", talking("six")) // within the time that one look may take for another's
	w.clock.look(2)
	w.reported("talker reloaded")
	if err := os.Chtimes(file, time.Now(), time.Now()); err != nil { // touched, and the same
		t.Fatal(err)
	}
	w.clock.look(3)
	w.reported()
}

// Two writes within the grain of a file system's clock look alike. What was read so soon after a
// write is read again.
func TestWhatWasReadSoonAfterAWriteIsReadAgain(t *testing.T) {
	for after, want := range map[time.Duration]bool{0: true, time.Second: true, -time.Minute: true, time.Minute: false} {
		dir := t.TempDir()
		file, written := filepath.Join(dir, "talker.yaml"), time.Now().Add(-time.Hour)
		write := func(text string) {
			t.Helper()
			if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, written, written)); err != nil {
				t.Fatal(err)
			}
		}
		write(talking("one"))
		files := agentFiles{dir: dir, clock: enginetest.NewClock(written.Add(after))}
		if _, err := files.read(); err != nil {
			t.Fatal(err)
		}
		write(talking("two"))
		if got := files.touched(); got != want {
			t.Errorf("read %s after the write: touched is %t", after, got)
		}
	}
}

func TestARecordingIsAPartOfItsAgent(t *testing.T) {
	r := newRig(t, nothing)
	recorded := func(text string) {
		r.put("talker.jsonl", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"`+text+`"}]}`+"\n")
	}
	recorded("one")
	r.put("talker.yaml", "model: {provider: recorded, file: talker.jsonl}\n")
	w := r.watch()
	if got := w.says(); got != "one" {
		t.Fatalf("a run says %q", got)
	}
	recorded("two")
	w.clock.look(2)
	w.reported("talker reloaded")
	if got := w.says(); got != "two" {
		t.Errorf("a run says %q", got)
	}
	recorded("three\n") // no JSON
	w.clock.look(2)
	w.reported("talker refused talker.yaml:1: ")
	if got := w.says(); got != "two" {
		t.Errorf("beside a recording with a mistake, a run says %q", got)
	}
}

func TestAScriptIsAPartOfItsAgent(t *testing.T) {
	r := newRig(t, nothing)
	if err := os.Mkdir(filepath.Join(r.agents, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.put("scripts/talker.yaml", "- say: one\n")
	r.put("talker.yaml", "model: {provider: scripted, script: scripts/talker.yaml}\n")
	w := r.watch()
	r.put("scripts/unused.yaml", "{{{")
	w.clock.look(2)
	w.reported()
	r.put("scripts/talker.yaml", "- say: two\n")
	w.clock.look(2)
	w.reported("talker reloaded")
	r.put("talker.yaml", "model: {provider: scripted, script: scripts/later.yaml}\n")
	w.clock.look(3)
	w.reported("talker refused talker.yaml:1: the script scripts/later.yaml cannot be read")
	r.put("scripts/later.yaml", "- say: three\n")
	w.clock.look(2)
	w.reported("talker reloaded")
	if got := w.says(); got != "three" {
		t.Errorf("a run says %q", got)
	}
}

func TestANewAgentIsServed(t *testing.T) {
	r := newRig(t, nothing)
	w := r.watch() // on an empty directory
	r.put("talker.yaml", talking("one"))
	w.clock.look(2)
	w.reported("talker added")
	if got := w.says(); got != "one" {
		t.Errorf("a run says %q", got)
	}
	r.put("broken.yaml", "{{{")
	w.clock.look(2)
	w.reported("broken refused broken.yaml:1: ")
	if reason := without(t, w.running, "broken"); !strings.Contains(reason, "broken.yaml") || strings.Contains(reason, r.agents) {
		t.Errorf("it is listed with %q", reason)
	}
}

// An agent that the start left out is served as soon as its file is right, and its runs go on.
func TestAnAgentThatTheStartLeftOutIsServedOnceItsFileIsRight(t *testing.T) {
	r := newRig(t, nothing)
	r.put("talker.yaml", "{{{")
	w := r.watch()
	if got := w.says(); got != "agent_unavailable" {
		t.Errorf("a run says %q", got)
	}
	w.clock.look(3)
	w.reported()
	r.put("talker.yaml", talking("one"))
	w.clock.look(2)
	w.reported("talker reloaded")
	if got := w.says(); got != "one" {
		t.Errorf("a run says %q", got)
	}
}

// A directory that is away, as while it is checked out anew, takes no agent away.
func TestADirectoryThatIsAwayTakesNoAgentAway(t *testing.T) {
	r := newRig(t, nothing)
	r.put("talker.yaml", talking("one"))
	w := r.watch()
	if err := os.Rename(r.agents, r.agents+"-away"); err != nil {
		t.Fatal(err)
	}
	w.clock.look(5)
	w.reported()
	if got := w.says(); got != "one" {
		t.Errorf("a run says %q", got)
	}
	if n := strings.Count(r.log.text(), "cannot read the agents directory"); n != 1 {
		t.Errorf("the log says %d times that it is away", n)
	}
	if err := os.Rename(r.agents+"-away", r.agents); err != nil {
		t.Fatal(err)
	}
	r.put("talker.yaml", talking("two"))
	w.clock.look(2)
	w.reported("talker reloaded")
}

func TestWithoutWatchAChangeCountsFromTheNextStartOn(t *testing.T) {
	r := newRig(t, nothing)
	r.put("talker.yaml", talking("one"))
	w := &watched{rig: r, running: r.start()}
	r.put("talker.yaml", talking("two"))
	if got := w.says(); got != "one" {
		t.Errorf("a run says %q", got)
	}
	w.end(t)
	w.running = r.start()
	if got := w.says(); got != "two" {
		t.Errorf("after a start, a run says %q", got)
	}
}

// A strict server does not end for a mistake that comes later.
func TestAStrictServerReloadsAsWell(t *testing.T) {
	r := newRig(t, nothing)
	r.put("talker.yaml", talking("one"))
	w := r.watch(func(o *Options) { o.Strict = true })
	r.put("talker.yaml", "{{{")
	w.clock.look(2)
	w.reported("talker refused")
	r.put("talker.yaml", talking("two"))
	w.clock.look(2)
	w.reported("talker reloaded")
	if got := w.says(); got != "two" {
		t.Errorf("a run says %q", got)
	}
}

// Nothing is read while nothing changes, and what could not be stored is tried again at each look.
func TestLooksAreCheapAndAFailureIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "talker.yaml")
	clock := enginetest.NewClock(time.Now().Add(time.Hour)) // long after every write
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var deployed []string
	var fails error
	log := &lines{}
	r := &reloader{clock: clock, log: slog.New(slog.NewTextHandler(log, nil)), files: agentFiles{dir: dir, clock: clock},
		deploy: func(_ context.Context, files []agentfile.File) ([]program.Change, error) {
			deployed = append(deployed, files[0].Definition.Model.Turns[0].Say)
			return nil, fails
		}}
	write(talking("one"))
	if err := r.again(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.files.touched() {
		t.Error("files that did not change are read again")
	}
	write(talking("three"))
	if !r.files.touched() {
		t.Error("a change is not noticed")
	}
	fails = errors.New("the disk is full")
	for range 4 {
		r.look(t.Context())
	}
	write(talking("one")) // what was deployed, but perhaps not for all any more
	fails = nil
	for range 4 {
		r.look(t.Context())
	}
	if diff := cmp.Diff([]string{"one", "three", "three", "three", "one"}, deployed); diff != "" {
		t.Errorf("deployed (-want +got):\n%s", diff)
	}
	if n := strings.Count(log.text(), "the disk is full"); n != 1 {
		t.Errorf("the log says %d times why", n)
	}
}
