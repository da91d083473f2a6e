package stack

import (
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/frontend/pace"
)

// rates reads what each tenant may do per second, such as "starts=5 decisions=20 streams=2". 0 is
// no limit.
func (r *reader) rates(name string) map[pace.Kind]pace.Rate {
	if r.getenv(name) == "" {
		return nil
	}
	rates := map[pace.Kind]pace.Rate{pace.Starts: {}, pace.Decisions: {}, pace.Streams: {}}
	for item := range strings.FieldsSeq(r.getenv(name)) {
		what, text, _ := strings.Cut(item, "=")
		n, err := strconv.ParseFloat(text, 64)
		if _, known := rates[pace.Kind(what)]; !known || err != nil || !(n >= 0 && n <= pace.Most) {
			r.say("%s has %q; write KIND=NUMBER for starts, decisions and streams, with numbers from 0 to %d", name, item, pace.Most)
		}
		rates[pace.Kind(what)] = pace.PerSecond(n, 0)
	}
	return rates
}
