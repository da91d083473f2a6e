package stackdoctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// spareConcurrency is what the functions that answer callers should have beside the queues' share.
const spareConcurrency = 20

// Quotas reads how much may run at once.
type Quotas interface {
	Account(ctx context.Context) (Account, error)
	// Reserved is the concurrency that is reserved for a function, which is also its maximum;
	// false if none is.
	Reserved(ctx context.Context, function string) (int, bool, error)
}

// Account has the quotas of an account in a region.
type Account struct {
	Concurrency int // of all functions
	Unreserved  int // what is left of it for functions without a reservation
}

// Mappings reads the event source mappings of functions.
type Mappings interface {
	Mapping(ctx context.Context, id string) (Mapping, error)
}

// Mapping lets a queue invoke a function.
type Mapping struct {
	State  string // as Lambda says it, such as Enabled
	Result string // of the last batch, such as "PROBLEM: …"
	AtMost int    // invocations at once; 0 if unlimited
}

func checkQuotas(ctx context.Context, from Quotas, s Stack, queues []readMapping) []Finding {
	r := results{check: "quotas"}
	reserved, stopped := 0, []string{}
	for _, f := range s.all(typeFunction) {
		n, is, err := from.Reserved(ctx, f.Name)
		switch {
		case errors.Is(err, ErrMissing):
			r.fail("deploy again", "%s is missing: there is no function %s", f.ID, f.Name)
		case err != nil:
			r.unread("reserved concurrency", err)
		case is && n == 0:
			stopped = append(stopped, f.ID)
		case is:
			reserved += n
		}
	}
	if len(stopped) > 0 {
		r.fail("if a restore is in progress, finish it with dormouse-restore start; otherwise remove the reservations", "stopped by a reserved concurrency of 0: %s", strings.Join(stopped, ", "))
	}
	a, err := from.Account(ctx)
	if err != nil {
		r.unread("concurrency of the account", err)
		return r.found
	}
	queued := 0
	for _, q := range queues {
		queued += q.AtMost
	}
	all := fmt.Sprintf("the account's concurrency is %d, of which %d are not reserved; the queues' functions take up to %d, and this stack reserves %d", a.Concurrency, a.Unreserved, queued, reserved)
	const do = "request a higher quota for concurrent executions of Lambda, or deploy with a lower StepConcurrency, IntakeConcurrency and NotifyConcurrency"
	switch {
	case a.Unreserved <= queued:
		r.fail(do, "%s, so steps can keep callers from being answered", all)
	case a.Unreserved < queued+spareConcurrency:
		r.warn(do, "%s, which leaves %d for callers", all, a.Unreserved-queued)
	default:
		r.ok("%s", all)
	}
	return r.found
}

// readMapping is a mapping of the stack, or why it could not be read.
type readMapping struct {
	id string
	Mapping
	err error
}

func readMappings(ctx context.Context, from Mappings, s Stack) (all []readMapping) {
	for _, res := range s.all(typeMapping) {
		m, err := from.Mapping(ctx, res.Name)
		all = append(all, readMapping{res.ID, m, err})
	}
	return all
}

func limit(atOnce int) string {
	if atOnce == 0 {
		return ""
	}
	return "up to " + strconv.Itoa(atOnce) + " at once"
}

// checkMappings says whether the queues invoke their functions.
func checkMappings(all []readMapping) []Finding {
	r := results{check: "queues"}
	var fine []string
	for _, m := range all {
		switch {
		case errors.Is(m.err, ErrMissing):
			r.fail("deploy again", "%s: the event source mapping was deleted", m.id)
		case m.err != nil:
			r.unread("event source mappings", m.err)
		case strings.HasPrefix(m.Result, "PROBLEM"):
			r.fail("correct the cause; the function's role or the queue's key may lack a permission", "%s: %s", m.id, m.Result)
		case m.State == "Enabled":
			fine = append(fine, m.id+" ("+cmp.Or(limit(m.AtMost), "no limit")+")")
		case m.State == "Disabled":
			r.fail("if a restore is in progress, finish it with dormouse-restore start; otherwise enable the mapping", "%s is disabled, so its queue is not worked on", m.id)
		default:
			r.warn("run the command again in a minute", "%s is %s", m.id, m.State)
		}
	}
	if len(all) == 0 {
		r.fail("deploy again", "the stack has no event source mappings, so no queue is worked on")
	} else if len(fine) > 0 {
		r.ok("enabled: %s", strings.Join(fine, ", "))
	}
	return r.found
}
