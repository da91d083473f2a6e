package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLogSaysTheCommandsOfTheProgram(t *testing.T) {
	r, _ := countingRig(t)
	r.deploy(asked)
	o := r.options()
	o.Command = "harbour"
	s := r.startWith(o)
	run := s.await(t, s.begin(t).ID, "waiting")
	want := "harbour decide " + run.ID + " " + run.Pending[0].Suspension.ID + " --approve (or --deny)"
	r.log.await(t, want)
	if text := r.log.text(); strings.Contains(text, "dormouse decide") {
		t.Errorf("the log names another program:\n%s", text)
	}
}

func TestAStartThatIsRefusedSaysTheCommandsOfTheProgram(t *testing.T) {
	r, _ := countingRig(t)
	o := r.options()
	o.Command, o.TokensFile = "harbour", filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(o.TokensFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), o)
	if want := "harbour tokens add NAME --file " + o.TokensFile; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}
