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

// detections say what effects with detect would find now.
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

// detection is what one effect would find in its workspace. It looks again after each call, so an
// empty result is not an error.
func detection(workspace string, e agent.Effect) string {
	if about, err := os.Stat(workspace); err != nil || !about.IsDir() {
		return fmt.Sprintf("the effect %q detects commands in %s, which is not a directory; it does nothing until the directory exists", e.Name, e.Workspace)
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
			says = append(says, fmt.Sprintf("%s: %s (%s), skipped because %s is not installed", kind, found[at], found[at].From, found[at].Argv[0]))
		default:
			says = append(says, fmt.Sprintf("%s: %s (%s)", kind, found[at], found[at].From))
		}
	}
	return fmt.Sprintf("the effect %q currently detects in %s: %s", e.Name, e.Workspace, strings.Join(says, "; "))
}
