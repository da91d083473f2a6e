package openai

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// confined is the client of the options, following no redirect, since that would take the key to
// where the agent's author did not mean it to go. Without one it reaches public addresses only.
func confined(o Options) *http.Client {
	own := http.Client{}
	if o.HTTP != nil {
		own = *o.HTTP
	}
	if own.Transport == nil {
		own.Transport = netguard.New(netguard.Options{Clock: o.Clock})
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Jar = nil
	return &own
}
