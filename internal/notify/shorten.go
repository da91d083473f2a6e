package notify

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

const (
	// mostBody is how many bytes of JSON a notice may have.
	mostBody = 256 << 10

	// leastCut is how many bytes a member must have for leaving it out to be of use.
	leastCut = 1 << 10
)

// most is how many bytes a notice for an endpoint may have. The services behind sinks count what
// they add to it, too.
func most(endpoint string) int {
	if notice.OfSink(endpoint) {
		return mostBody - 2<<10
	}
	return mostBody
}

// shorten leaves out members, in the order that [client.Notice] tells, until the notice fits.
func shorten(n *client.Notice, most int) {
	size := sizeOf(n)
	cut := func(name string, member any, leave func()) {
		if was := sizeOf(member); size > most && was > leastCut {
			leave()
			n.Truncated = append(n.Truncated, name)
			size = sizeOf(n)
		}
	}
	if n.Run != nil {
		run := *n.Run
		n.Run = &run
		cut("run.pending", run.Pending, func() { run.Pending = []client.Pending{} })
	}
	shortenEvent(n, cut)
	if n.Approval != nil {
		a := *n.Approval
		n.Approval = &a
		cut("approval.preview", a.Preview, func() { a.Preview = nil })
		cut("approval.requests", a.Requests, func() { a.Requests, a.RequestsCut = nil, true })
		cut("approval.suspension.response_schema", a.Suspension.ResponseSchema, func() { a.Suspension.ResponseSchema = nil })
		cut("approval.asked_arguments", a.Asked, func() { a.Asked = nil })
		cut("approval.arguments", a.Arguments, func() { a.Arguments = nil })
	}
	if n.Run != nil {
		cut("run.output", n.Run.Output, func() { n.Run.Output = nil })
	}
}

// shortenEvent leaves out members of the event's data, the largest first.
func shortenEvent(n *client.Notice, cut func(name string, member any, leave func())) {
	var data map[string]json.RawMessage
	if json.Unmarshal(n.Event.Data, &data) != nil {
		return
	}
	names := slices.SortedFunc(maps.Keys(data), func(a, b string) int { return len(data[b]) - len(data[a]) })
	for _, name := range names {
		cut("event.data."+name, data[name], func() {
			delete(data, name)
			n.Event.Data = core.Encode(data)
		})
	}
}

func sizeOf(v any) int {
	b, _ := core.EncodeAny(v) // what was read from a store can be written
	return len(b)
}
