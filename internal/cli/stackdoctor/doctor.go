package stackdoctor

import (
	"context"
	"errors"
	"time"
)

// Sources are what the checks read. All are required.
type Sources struct {
	Stacks   Stacks
	Clock    Clock
	Quotas   Quotas
	Mappings Mappings
	Versions Versions
	Tables   Tables
	Queues   Queues
	Ages     Ages
	Alarms   Alarms
	Topics   Topics
	Models   Models

	// What the table's name or the API's address is needed for.
	Runs   func(table string) Runs
	Agents func(table string) Agents
	Health func(url string) Health
}

// Options are those of an examination.
type Options struct {
	Stack, Region string
	Policy        *Policy // what the stack should apply; nil: what its parameter says
	URL           string  // of the API; empty: the output ApiUrl
	TryModels     bool
	Schema        Schema
	Now           time.Time
}

// Examine checks a stack. It returns an error if the stack can't be found or ctx ends.
func Examine(ctx context.Context, from Sources, o Options) (Report, error) {
	report := Report{Stack: o.Stack, Region: o.Region, Findings: []Finding{}}
	s, err := from.Stacks.Stack(ctx, o.Stack)
	report.Findings = checkClock(from.Clock)
	_, denied := errors.AsType[*Denied](err)
	switch {
	case ctx.Err() != nil:
		return report, context.Cause(ctx)
	case err != nil && !denied && stateOf(report.Findings) != Failed:
		return report, err
	case err != nil:
		r := results{check: "stack"}
		r.unread("everything else, because the stack's resources can't be listed", err)
		report.Findings = append(report.Findings, r.found...)
	default:
		report.Findings = append(report.Findings, examined(ctx, from, s, o)...)
	}
	report.State = stateOf(report.Findings)
	return report, context.Cause(ctx)
}

func examined(ctx context.Context, from Sources, s Stack, o Options) (all []Finding) {
	add := func(found []Finding) { all = append(all, found...) }
	add(checkStack(s))
	add(checkRegion(s, o.Region))
	mappings := readMappings(ctx, from.Mappings, s)
	add(checkQuotas(ctx, from.Quotas, s, mappings))
	add(checkMappings(mappings))
	table := s.table()
	if table != "" {
		add(checkTable(ctx, from.Tables, from.Runs(table), table, o.Schema))
	}
	add(checkDeadLetters(ctx, from.Queues, from.Ages, s))
	add(checkAlarms(ctx, from.Alarms, from.Topics, s, o.Now))
	functions := readFunctions(ctx, from.Versions, s)
	add(checkVersions(functions, s))
	inForce := ""
	if url := o.url(s); url != "" {
		digest, found := checkHealth(ctx, from.Health(url))
		inForce = digest
		add(found)
	}
	want, found := o.policy(s)
	add(found)
	if len(found) == 0 {
		add(checkPolicy(inForce, functions, want))
	}
	if table != "" {
		add(checkModels(ctx, from.Agents(table), from.Models, s, o.Region, o.TryModels))
	}
	return all
}

func (o Options) url(s Stack) string {
	if o.URL != "" {
		return o.URL
	}
	return s.Outputs["ApiUrl"]
}

// policy is the one that the stack should apply; nil if it can't be known.
func (o Options) policy(s Stack) (*Policy, []Finding) {
	text, is := s.Parameters["Policy"]
	if o.Policy != nil || !is {
		return o.Policy, nil
	}
	p, err := ReadPolicy("the parameter Policy", text)
	if err != nil {
		r := results{check: "policy"}
		r.fail("correct Policy and deploy again", "the parameter Policy is invalid: %v", err)
		return nil, r.found
	}
	return &p, nil
}
