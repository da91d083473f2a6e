package stackdoctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// noDataWarned is how long an alarm may be without data. Every alarm of the template has data, or
// treats missing data as good or bad.
const noDataWarned = time.Hour

// Alarms reads alarms of CloudWatch.
type Alarms interface {
	// Alarms are those of these names that exist.
	Alarms(ctx context.Context, names []string) ([]Alarm, error)
}

// Alarm is an alarm of CloudWatch.
type Alarm struct {
	Name    string
	State   string // OK, ALARM or INSUFFICIENT_DATA
	Since   time.Time
	Enabled bool     // whether it acts
	Actions []string // ARNs
}

// Topics reads topics of SNS.
type Topics interface {
	Topic(ctx context.Context, arn string) (Topic, error)
}

// Topic counts the subscriptions of a topic.
type Topic struct{ Confirmed, Pending int }

func checkAlarms(ctx context.Context, from Alarms, topics Topics, s Stack, now time.Time) []Finding {
	r := results{check: "alarms"}
	ids := map[string]string{}
	for _, a := range s.all(typeAlarm) {
		ids[a.Name] = a.ID
	}
	if len(ids) == 0 {
		r.fail("deploy again with this version's template", "the stack has no alarms")
		return r.found
	}
	alarms, err := from.Alarms(ctx, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		r.unread("alarms", err)
		return r.found
	}
	r.states(alarms, ids, now)
	r.receivers(ctx, topics, alarms)
	return r.found
}

// states says which alarms ring, have no data, are off or are missing.
func (r *results) states(alarms []Alarm, ids map[string]string, now time.Time) {
	var ringing, blind, off []string
	missing := maps.Clone(ids)
	for _, a := range alarms {
		id := ids[a.Name]
		delete(missing, a.Name)
		since := fmt.Sprintf("%s since %s", id, a.Since.UTC().Format(time.RFC3339))
		if a.State == "ALARM" {
			ringing = append(ringing, since)
		}
		if a.State == "INSUFFICIENT_DATA" && now.Sub(a.Since) >= noDataWarned {
			blind = append(blind, since)
		}
		if !a.Enabled {
			off = append(off, id)
		}
	}
	list := func(names []string) string { slices.Sort(names); return strings.Join(names, ", ") }
	if len(ringing) > 0 {
		r.fail("look up each alarm in the guide Deploy on AWS; its description in CloudWatch names the cause", "in alarm: %s", list(ringing))
	}
	if len(missing) > 0 {
		r.fail("deploy again; if nothing changed, set another Version", "deleted outside of the stack: %s", list(slices.Collect(maps.Values(missing))))
	}
	if len(blind) > 0 {
		r.warn("check that the functions may write logs, from which CloudWatch takes the metrics", "without data: %s", list(blind))
	}
	if len(off) > 0 {
		r.warn("turn their actions on", "actions turned off: %s", list(off))
	}
	if len(ringing)+len(missing)+len(blind)+len(off) == 0 {
		r.ok("%s: none is in alarm", counted(len(alarms), "alarm"))
	}
}

// receivers says whether an alarm reaches a person.
func (r *results) receivers(ctx context.Context, topics Topics, alarms []Alarm) {
	arns := map[string]bool{}
	for _, a := range alarms {
		for _, arn := range a.Actions {
			if strings.Contains(arn, ":sns:") {
				arns[arn] = true
			}
		}
	}
	if len(arns) == 0 {
		r.warn("deploy with AlarmTopicArn or AlarmEmail", "the alarms notify no one")
	}
	for _, arn := range slices.Sorted(maps.Keys(arns)) {
		t, err := topics.Topic(ctx, arn)
		switch {
		case errors.Is(err, ErrMissing):
			r.fail("deploy with AlarmTopicArn of a topic that exists", "the topic %s does not exist, so the alarms notify no one", arn)
		case err != nil:
			r.unread("subscriptions of "+arn, err)
		case t.Confirmed == 0 && t.Pending > 0:
			r.fail("confirm the subscription by the link in its mail; it expires after two days, then deploy with another AlarmEmail or subscribe again",
				"the topic %s has no confirmed subscription and %d that wait for a confirmation", arn, t.Pending)
		case t.Confirmed == 0:
			r.fail("subscribe to the topic", "the topic %s has no subscription, so the alarms notify no one", arn)
		default:
			r.ok("the alarms notify %s of %s", counted(t.Confirmed, "subscription"), arn)
		}
	}
}
