package stack

import (
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
)

// Shares of what reads may be held for, so that they leave room for others even while they come in
// bursts: a burst holds up to three times the rate.
const (
	apiShare    = 4 // of the function's concurrency, all reads have one in this many
	tenantShare = 4 // and of that, one tenant has one in this many
)

// shortestBurst is how many seconds a bucket of held seconds has at least: those of one read.
const shortestBurst = 20

// rates reads what tenants may do per second, such as "starts=5 decisions=20 streams=2". "held" is
// how many reads are held at once on average, and "api" the concurrency of the function that holds
// them, if it is reserved. 0 is no limit.
func (r *reader) rates(name string, tenants bool) map[pace.Kind]pace.Rate {
	if r.getenv(name) == "" {
		return nil
	}
	given := map[string]float64{"starts": 0, "decisions": 0, "streams": 0, "held": 0, "api": 0}
	for item := range strings.FieldsSeq(r.getenv(name)) {
		what, text, _ := strings.Cut(item, "=")
		n, err := strconv.ParseFloat(text, 64)
		if _, known := given[what]; !known || err != nil || !(n >= 0 && n <= pace.Most) {
			r.say("%s has %q; write KIND=NUMBER for starts, decisions, streams, held and api, with numbers from 0 to %d", name, item, pace.Most)
		}
		given[what] = n
	}
	rates := map[pace.Kind]pace.Rate{pace.Starts: pace.PerSecond(given["starts"], 0), pace.Decisions: pace.PerSecond(given["decisions"], 0), pace.Streams: pace.PerSecond(given["streams"], 0)}
	all := given["held"]
	if api := given["api"]; api > 0 {
		all = min(all, api/apiShare)
	}
	rates[pace.HeldByAll] = pace.PerSecond(all, shortestBurst)
	if tenants {
		rates[pace.Held] = pace.PerSecond(all/tenantShare, shortestBurst)
	}
	return rates
}
