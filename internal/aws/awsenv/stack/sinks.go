package stack

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
)

// Sinks are services of AWS that get notices of every run of the stack.
type Sinks struct {
	EventBus string // name or ARN of an event bus of EventBridge; empty for none
	Source   string // of the events
	Topic    string // ARN of a topic of SNS; empty for none
	On       notice.Set
}

// The endpoints of sinks.
var (
	EventBusEndpoint = notice.SinkEndpoint("eventbridge")
	TopicEndpoint    = notice.SinkEndpoint("sns")
)

// Subscriptions are those of the sinks that are set.
func (s Sinks) Subscriptions() (all []notice.Subscription) {
	if s.EventBus != "" {
		all = append(all, notice.Subscription{Endpoint: EventBusEndpoint, On: s.On})
	}
	if s.Topic != "" {
		all = append(all, notice.Subscription{Endpoint: TopicEndpoint, On: s.On})
	}
	return all
}

// sinks reads the sinks. The kinds matter only if there is one.
func (r *reader) sinks() Sinks {
	s := Sinks{EventBus: r.getenv("DORMOUSE_EVENT_BUS"), Source: r.or("DORMOUSE_EVENT_SOURCE", "dormouse"), Topic: r.getenv("DORMOUSE_NOTICE_TOPIC_ARN")}
	if s.Topic != "" {
		s.Topic = r.arn("DORMOUSE_NOTICE_TOPIC_ARN", "topic", "arn:aws:sns:REGION:ACCOUNT:NAME")
	}
	if s.EventBus == "" && s.Topic == "" {
		return Sinks{}
	}
	for _, name := range list(r.getenv("DORMOUSE_NOTICE_KINDS")) {
		kind := notice.Kind(name)
		switch {
		case !slices.Contains(notice.Kinds, kind):
			r.say("DORMOUSE_NOTICE_KINDS contains %q; use some of %v, or remove it for all", name, notice.Kinds)
		case !slices.Contains(s.On, kind):
			s.On = append(s.On, kind)
		}
	}
	if len(s.On) == 0 {
		s.On = slices.Clone(notice.Kinds)
	}
	return s
}
