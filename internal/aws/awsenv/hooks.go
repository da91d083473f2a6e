package awsenv

import (
	"io"

	"github.com/dormouse-dev/dormouse/internal/frontend"
)

// Hooks has the parts of the function that receives webhooks.
type Hooks struct {
	parts
	Frontend *frontend.Frontend
}

// NewHooks assembles the parts. The function describes agents and runs nothing. Log lines and
// metrics go to out. It makes no network request.
func NewHooks(s Settings, register Register, out io.Writer) (Hooks, error) {
	p, err := open(s, register, nil, out)
	if err != nil {
		return Hooks{}, err
	}
	return Hooks{parts: p, Frontend: p.countedFrontend()}, nil
}
