package plans

import (
	"github.com/dormouse-dev/dormouse/internal/core"
)

// Previewer is a [core.Rules] whose tools may have previews. It is pure like them.
type Previewer interface {
	// Preview says how the preview of a call is made; nil if the call has none.
	Preview(call core.ToolCall) *PreviewSource
}

// PreviewSource is a text that is the preview, or the tool and the arguments to read it with. The
// call has no id.
type PreviewSource struct {
	Text string
	Read *core.ToolCall // nil: Text is the preview
}

// Previewed is what came of reading a preview, as the view carries it until a commit contains it.
type Previewed struct {
	Call   string // id of the reading call
	Text   string
	Failed string // why there is no text; empty if there is one
}
