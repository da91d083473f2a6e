package treefeed

import (
	"encoding/base64"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// cursorMark begins the cursor of a tree: it is none of a single run.
const cursorMark = "tree1 "

// cursor is where the merge is: for each open run, the cursor in its own stream.
func (t *trunk) cursor() string {
	var b strings.Builder
	b.WriteString(cursorMark)
	for i, one := range t.branches {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.TrimPrefix(one.run, "run_") + "=" + one.at)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(b.String()))
}

// isTree says whether the text is the cursor of a tree, or of a single run.
func isTree(text string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && strings.HasPrefix(string(raw), cursorMark)
}

// readCursor reads a cursor of the tree of a run. The empty one is the beginning.
func readCursor(text, run string) ([]*branch, error) {
	if text == "" {
		return []*branch{{run: run}}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	inner, ours := strings.CutPrefix(string(raw), cursorMark)
	if err != nil || !ours {
		return nil, journal.BadCursor()
	}
	var branches []*branch
	seen := map[string]bool{}
	for one := range strings.SplitSeq(inner, ",") {
		id, at, ok := strings.Cut(one, "=")
		b := &branch{run: "run_" + id, at: at}
		if _, is := core.ThreadOf(b.run); !ok || !is || seen[b.run] || len(branches) > Most {
			return nil, journal.BadCursor()
		}
		seen[b.run] = true
		branches = append(branches, b)
	}
	if branches[0].run != run {
		return nil, journal.BadCursor()
	}
	return branches, nil
}
