package openai

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/machine/netguard"
)

// confined returns the client of the options without redirects, which could send the key to another
// server. Without a client in the options it reaches public addresses only.
func confined(o Options) *http.Client {
	own := http.Client{}
	if o.HTTP != nil {
		own = *o.HTTP
	}
	if own.Transport == nil {
		own.Transport = netguard.New(netguard.Options{Clock: o.Clock}).Keep(netguard.Access{})
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Jar = nil
	return &own
}
