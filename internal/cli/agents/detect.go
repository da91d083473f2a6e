package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/program"
)

// detections say what effects that look for commands would find now.
func detections(agents []agentfile.Surveyed) (notes []note) {
	for _, d := range agents {
		for _, e := range d.Effects {
			if len(e.Detect) > 0 {
				notes = append(notes, note{d.File, detection(program.Workspace(filepath.Dir(d.File), e), e)})
			}
		}
	}
	return notes
}

// detection is what one effect would find in its workspace. It looks again after each call, so
// nothing of this is wrong.
func detection(workspace string, e agent.Effect) string {
	if about, err := os.Stat(workspace); err != nil || !about.IsDir() {
		return fmt.Sprintf("the effect %q looks for commands in %s, which is no directory now; it says nothing until there is one", e.Name, e.Workspace)
	}
	var says []string
	found := hook.Detect(workspace, e.Detect)
	for _, kind := range hook.Kinds {
		at := slices.IndexFunc(found, func(d hook.Detected) bool { return d.Kind == kind })
		switch {
		case !slices.Contains(e.Detect, kind):
		case at < 0:
			says = append(says, kind+": none")
		case !found[at].Here(workspace):
			says = append(says, fmt.Sprintf("%s: %s (%s), which is left out, because %s is not on this machine", kind, found[at], found[at].From, found[at].Argv[0]))
		default:
			says = append(says, fmt.Sprintf("%s: %s (%s)", kind, found[at], found[at].From))
		}
	}
	return fmt.Sprintf("the effect %q finds in %s now: %s", e.Name, e.Workspace, strings.Join(says, "; "))
}
