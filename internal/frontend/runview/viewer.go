// Package runview shows a run to callers: its state, its output, who started it, and the calls that
// wait, with what an approver needs to decide on them.
package runview

import (
	"context"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/frontend/journal"
)

// DescribeTool is what a tool of the version that a run is pinned to does, and where its calls go,
// with a title that has no values yet.
type DescribeTool func(ctx context.Context, tenant string, r core.Record, tool string) (wire.ToolDetails, error)

// Viewer shows what a journal holds.
type Viewer struct {
	journal *journal.Reader
	tool    DescribeTool
}

// New makes a viewer. A nil tool leaves out the details of tools.
func New(j *journal.Reader, tool DescribeTool) *Viewer { return &Viewer{journal: j, tool: tool} }
