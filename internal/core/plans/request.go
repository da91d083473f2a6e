package plans

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Request is what hooks have made of a step's model call.
type Request struct {
	Step     int
	Context  []string // text for this request only, behind the conversation
	Override *core.Override
	Include  []string // empty: all
	Exclude  []string
}

// Offers says whether the request names the tool to the model.
func (r Request) Offers(tool string) bool {
	return (len(r.Include) == 0 || slices.Contains(r.Include, tool)) && !slices.Contains(r.Exclude, tool)
}
