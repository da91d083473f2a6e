package stack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
)

var functionName = regexp.MustCompile(`:function:([^:/]+)`)

// functionOf is the logical id of the function that a name, an ARN, an alias or an integration's
// URI means.
func (b *builder) functionOf(value string) (string, error) {
	name := value
	if found := functionName.FindStringSubmatch(value); found != nil {
		name = found[1]
	}
	id, there := b.names[name]
	if !there {
		return "", fmt.Errorf("%q is no function of this stack", value)
	}
	return id, nil
}

func (b *builder) mapping(id string, raw []byte) error {
	var p struct {
		EventSourceArn, FunctionName string
		BatchSize                    number
		Enabled                      *truth
		FunctionResponseTypes        []string
		ScalingConfig                struct{ MaximumConcurrency number }
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	function, err := b.functionOf(p.FunctionName)
	if err != nil {
		return err
	}
	queue, there := b.queues[p.EventSourceArn]
	if !there {
		return fmt.Errorf("the event source %s is no queue of this stack", p.EventSourceArn)
	}
	if p.BatchSize == 0 {
		p.BatchSize = 10 // Lambda's own
	}
	b.s.Mappings = append(b.s.Mappings, Mapping{ID: id, Queue: queue, Function: function, BatchSize: int(p.BatchSize),
		ReportItemFailures: slices.Contains(p.FunctionResponseTypes, "ReportBatchItemFailures"),
		MaximumConcurrency: int(p.ScalingConfig.MaximumConcurrency), Enabled: p.Enabled == nil || bool(*p.Enabled)})
	return nil
}

func (b *builder) url(id string, raw []byte) error {
	var p struct {
		TargetFunctionArn, AuthType, InvokeMode string
		Cors                                    *cors
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	function, err := b.functionOf(p.TargetFunctionArn)
	if err != nil {
		return err
	}
	address, err := b.r.Resolve(map[string]any{"Fn::GetAtt": []any{id, "FunctionUrl"}})
	b.s.URLs = append(b.s.URLs, FunctionURL{ID: id, Function: function, URL: template.Text(address), Stream: p.InvokeMode == "RESPONSE_STREAM",
		IAM: p.AuthType == "AWS_IAM", CORS: p.Cors.read()})
	return err
}

// cors has both spellings: members of a function's URL are written as these, those of an API with a
// small first letter. JSON in Go reads both.
type cors struct {
	AllowOrigins, AllowMethods, AllowHeaders, ExposeHeaders []string
	MaxAge                                                  number
	AllowCredentials                                        truth
}

func (c *cors) read() *CORS {
	if c == nil {
		return nil
	}
	return &CORS{AllowOrigins: c.AllowOrigins, AllowMethods: c.AllowMethods, AllowHeaders: c.AllowHeaders, ExposeHeaders: c.ExposeHeaders,
		MaxAge: int(c.MaxAge), AllowCredentials: bool(c.AllowCredentials)}
}

var rate = regexp.MustCompile(`^rate\((\d+) (minute|hour|day)s?\)$`)

func (b *builder) schedule(id string, raw []byte) error {
	type target struct{ Arn, Input string }
	var p struct {
		ScheduleExpression, State string
		Targets                   []target
		Target                    *target
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	if p.Target != nil {
		p.Targets = append(p.Targets, *p.Target)
	}
	found := rate.FindStringSubmatch(p.ScheduleExpression)
	if found == nil {
		return fmt.Errorf("this reader knows rate(...) schedules and not %q", p.ScheduleExpression)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil || p.State == "DISABLED" {
		return err
	}
	every := time.Duration(n) * map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[found[2]]
	for _, t := range p.Targets {
		function, err := b.functionOf(t.Arn)
		if err != nil {
			return err
		}
		b.s.Schedules = append(b.s.Schedules, Schedule{ID: id, Function: function, Every: every, Input: t.Input})
	}
	return nil
}
