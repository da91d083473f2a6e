// Package awsexamples is what the functions of this repository bring along beside the runtime: the tools and hooks of the examples. A program of
// one's own does not link it.
package awsexamples

import (
	"errors"
	"os"

	nightshift "github.com/dormouse-dev/dormouse/examples/night-shift"
	refunddesk "github.com/dormouse-dev/dormouse/examples/refund-desk"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

// Register adds the tools and hooks of the examples, so that they run as they are.
func Register(tools *tool.Registry, hooks *hook.Registry) error {
	return errors.Join(
		refunddesk.Register(tools, os.TempDir()), // the ledger of the example is a file; a function has no other place for one
		nightshift.Register(tools),
		nightshift.RegisterHooks(hooks),
	)
}
