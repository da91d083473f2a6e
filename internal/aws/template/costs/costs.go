// Package costs computes what a stack costs, from its template, its parameters, what a run was
// measured to consume, and list prices.
package costs

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/dormouse-dev/dormouse/internal/aws/emf"
	"github.com/dormouse-dev/dormouse/internal/aws/template"
)

//go:embed prices.json units.json
var files embed.FS

// Prices are list prices in dollars, without free tiers.
type Prices struct {
	Region        string  `json:"region"`
	Date          string  `json:"date"`
	WriteUnit     float64 `json:"write_unit"`
	ReadUnit      float64 `json:"read_unit"`
	StorageGB     float64 `json:"storage_gb"` // a month
	SQSRequest    float64 `json:"sqs_request"`
	LambdaCall    float64 `json:"lambda_call"`
	LambdaGB      float64 `json:"lambda_gb_second"` // on arm64
	HTTPRequest   float64 `json:"http_request"`
	Alarm, Metric float64 // a month; an alarm for each metric that it evaluates
	Dashboard     float64 // a month
}

// Units are what a part of a run makes the services do. A test of the step function measures them
// with the double of AWS.
type Units struct {
	Writes float64 `json:"writes"` // of the table
	Index  float64 `json:"index"`  // writes of the indexes
	Reads  float64 `json:"reads"`
	SQS    float64 `json:"sqs"`
	Steps  float64 `json:"steps"` // invocations of StepFunction
	HTTP   float64 `json:"http"`  // requests to the API, each with an invocation
}

// Measured are the units of one run of ten steps, and of one approval more in it.
type Measured struct {
	Run      Units `json:"run"`
	Approval Units `json:"approval"`
}

// Row is one item of the bill.
type Row struct {
	What    string  `json:"what"`
	Number  float64 `json:"number"`
	Unit    string  `json:"unit"`
	Dollars float64 `json:"dollars"`
}

// Bill is what a stack costs: idle, for a month; and more for a thousand runs, without what models
// cost, and for a thousand approvals.
type Bill struct {
	Region    string `json:"region"`
	Date      string `json:"date"`
	Idle      []Row  `json:"idle"`
	Runs      []Row  `json:"runs"`
	Approvals []Row  `json:"approvals"`
}

// What an idle stack does in a month.
const (
	minutes       = 30 * 24 * 60
	sweepReads    = 64      // units of a sweep: half a unit for each partition, read twice
	sweepSeconds  = 0.1     // assumed
	pollsAMapping = 650_000 // Lambda polls each queue about five times in 20 s
	thousand      = 1000
)

// requestSeconds and requestMB are assumed of a request to the API.
const (
	requestSeconds = 0.05
	requestMB      = 512
)

// Read returns the embedded prices and units.
func Read() (p Prices, m Measured, err error) {
	for name, into := range map[string]any{"prices.json": &p, "units.json": &m} {
		text, err := files.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			return p, m, fmt.Errorf("%s: %w", name, err)
		}
	}
	return p, m, nil
}

// Of computes the bill of a stack with these parameters, whose steps take so many seconds, model
// included.
func Of(t template.Template, parameters map[string]string, stepSeconds float64) (Bill, error) {
	p, m, err := Read()
	if err != nil {
		return Bill{}, err
	}
	r, err := t.Resolver(template.Deployment{Stack: "stack", Region: p.Region, Account: "123456789012", Parameters: parameters})
	if err != nil {
		return Bill{}, err
	}
	s := stack{t: t, r: r}
	b := Bill{Region: p.Region, Date: p.Date}
	if b.Idle, err = s.idle(p); err != nil {
		return b, err
	}
	memory, err := s.memory("StepFunction")
	if err != nil {
		return b, err
	}
	b.Runs, b.Approvals = rows(m.Run, p, memory, stepSeconds), rows(m.Approval, p, memory, requestSeconds)
	return b, nil
}

// rows is what a thousand times these units cost.
func rows(u Units, p Prices, memory, stepSeconds float64) []Row {
	step, request := u.Steps*stepSeconds*memory/1024, u.HTTP*requestSeconds*requestMB/1024
	var all []Row
	for _, row := range []Row{
		{"DynamoDB writes to the table", u.Writes, "write units", p.WriteUnit},
		{"DynamoDB writes to the indexes", u.Index, "write units", p.WriteUnit},
		{"DynamoDB reads", u.Reads, "read units", p.ReadUnit},
		{"SQS", u.SQS, "requests", p.SQSRequest},
		{"Lambda calls", u.Steps + u.HTTP, "calls", p.LambdaCall},
		{"Lambda computing time", step + request, "GB-seconds", p.LambdaGB},
		{"HTTP API", u.HTTP, "requests", p.HTTPRequest},
	} {
		row.Number *= thousand
		row.Dollars *= row.Number
		all = append(all, row)
	}
	return all
}

// stack is a template with its parameters.
type stack struct {
	t template.Template
	r *template.Resolver
}

func (s stack) idle(p Prices) ([]Row, error) {
	alarms, dashboards, mappings := 0, 0, 0
	for _, res := range s.t.Resources() {
		there, err := s.r.Holds(res.Condition())
		if err != nil {
			return nil, err
		}
		switch {
		case !there:
		case res.Type() == "AWS::CloudWatch::Alarm":
			alarms += evaluated(res)
		case res.Type() == "AWS::CloudWatch::Dashboard":
			dashboards++
		case res.Type() == "AWS::Serverless::Function":
			mappings += len(res.Events("SQS"))
		}
	}
	memory, err := s.memory("SweepFunction")
	if err != nil {
		return nil, err
	}
	row := func(what string, n float64, unit string, price float64) Row { return Row{what, n, unit, n * price} }
	return []Row{
		row("CloudWatch alarms", float64(alarms), "metrics of alarms", p.Alarm),
		row("CloudWatch metrics", float64(len(emf.Names())), "metrics", p.Metric),
		row("CloudWatch dashboard", float64(dashboards), "dashboards", p.Dashboard),
		row("DynamoDB reads of the sweep", minutes*sweepReads, "read units", p.ReadUnit),
		row("SQS polling", float64(mappings*pollsAMapping), "requests", p.SQSRequest),
		row("Lambda calls of the sweep", minutes, "calls", p.LambdaCall),
		row("Lambda computing time of the sweep", minutes*sweepSeconds*memory/1024, "GB-seconds", p.LambdaGB),
	}, nil
}

// evaluated is how many metrics an alarm is billed for.
func evaluated(alarm template.Resource) (n int) {
	for _, m := range template.List(alarm.Get("Metrics")) {
		if one, is := m.(map[string]any); is && one["MetricStat"] != nil {
			n++
		}
	}
	return max(n, 1)
}

// memory is that of a function, in MB.
func (s stack) memory(id string) (float64, error) {
	size := s.t.Resource(id).Get("MemorySize")
	if size == nil {
		size = s.t.Get("Globals", "Function", "MemorySize")
	}
	value, err := s.r.Resolve(size)
	if err != nil {
		return 0, err
	}
	var mb float64
	if _, err := fmt.Sscan(template.Text(value), &mb); err != nil {
		return 0, fmt.Errorf("the memory of %s: %w", id, err)
	}
	return mb, nil
}

// Sum is what rows cost together.
func Sum(rows []Row) (dollars float64) {
	for _, r := range rows {
		dollars += r.Dollars
	}
	return dollars
}
