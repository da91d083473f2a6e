package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
)

// Resolve reads what the SAM translator made.
func Resolve(cloud []byte, o Options) (*Stack, error) {
	t, err := template.Parse(cloud)
	if err != nil {
		return nil, fmt.Errorf("the translated template: %w", err)
	}
	r, err := t.Resolver(template.Deployment{Stack: o.Name, Region: o.Region, Account: o.Account, Parameters: o.Parameters})
	if err != nil {
		return nil, err
	}
	b := &builder{r: r, names: map[string]string{}, queues: map[string]string{}, integrations: map[string]integration{},
		s: &Stack{API: API{Authorizers: map[string]Authorizer{}}, Name: o.Name, Queues: map[string]Queue{}, Functions: map[string]Function{}}}
	for _, res := range inOrder(t) {
		if err := b.read(res); err != nil {
			return nil, fmt.Errorf("%s: %w", res.ID, err)
		}
	}
	if given := o.Parameters["ExistingTable"]; given != "" {
		b.s.Table = Table{Name: given, Given: true}
	}
	if b.s.Table.Name == "" {
		return nil, errors.New("the template has no table")
	}
	slices.SortFunc(b.s.API.Routes, func(a, b Route) int { return strings.Compare(a.Key(), b.Key()) })
	return b.s, nil
}

// inOrder are the resources of a template, first those that others name.
func inOrder(t template.Template) (all []template.Resource) {
	first := []string{"AWS::Lambda::Function", "AWS::SQS::Queue", "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Authorizer"}
	for _, kind := range first {
		all = append(all, t.All(kind)...)
	}
	for _, res := range t.Resources() {
		if !slices.Contains(first, res.Type()) {
			all = append(all, res)
		}
	}
	return all
}

// builder puts one resource after the other into the stack.
type builder struct {
	r      *template.Resolver
	s      *Stack
	names  map[string]string // logical id of a function, by its name
	queues map[string]string // logical id of a queue, by its ARN

	integrations map[string]integration // by the name that a route has for it
}

func (b *builder) read(res template.Resource) error {
	there, err := b.r.Holds(res.Condition())
	if err != nil || !there {
		return err
	}
	properties, err := b.r.Resolve(res.Get())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(properties)
	if err != nil {
		return err
	}
	name, err := b.r.Name(res.ID)
	if err != nil {
		return err
	}
	return b.add(res, name, raw)
}

// add puts a resource that is there, under its name and with its resolved properties.
func (b *builder) add(res template.Resource, name string, raw []byte) error {
	switch id := res.ID; res.Type() {
	case "AWS::DynamoDB::Table":
		return b.table(name, raw)
	case "AWS::SQS::Queue":
		return b.queue(id, name, raw)
	case "AWS::Lambda::Function":
		return b.function(id, name, raw)
	case "AWS::Lambda::EventSourceMapping":
		return b.mapping(id, raw)
	case "AWS::Lambda::Url":
		return b.url(id, raw)
	case "AWS::ApiGatewayV2::Api":
		return b.api(id, raw)
	case "AWS::ApiGatewayV2::Integration":
		return b.integration(name, raw)
	case "AWS::ApiGatewayV2::Authorizer":
		return b.authorizer(name, raw)
	case "AWS::ApiGatewayV2::Route":
		return b.route(raw)
	case "AWS::Events::Rule", "AWS::Scheduler::Schedule":
		return b.schedule(id, raw)
	}
	return nil
}

// number and truth are what a property may also say as text, as a parameter does.
type (
	number int
	truth  bool
)

func (n *number) UnmarshalJSON(raw []byte) error {
	v, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	*n = number(v)
	return err
}

func (t *truth) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseBool(strings.Trim(string(raw), `"`))
	*t = truth(v)
	return err
}

type keySchema []struct{ AttributeName, KeyType string }

func (k keySchema) key() (key Key) {
	for _, part := range k {
		if part.KeyType == "HASH" {
			key.Partition = part.AttributeName
		} else {
			key.Sort = part.AttributeName
		}
	}
	return key
}

func (b *builder) table(name string, raw []byte) error {
	if b.s.Table.Name != "" {
		return errors.New("a second table: the runtime has one")
	}
	var p struct {
		AttributeDefinitions   []struct{ AttributeName, AttributeType string }
		KeySchema              keySchema
		GlobalSecondaryIndexes []struct {
			IndexName  string
			KeySchema  keySchema
			Projection struct{ ProjectionType string }
		}
		TimeToLiveSpecification *struct {
			AttributeName string
			Enabled       truth
		}
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	t := Table{Name: name, Attributes: map[string]string{}, Key: p.KeySchema.key()}
	for _, a := range p.AttributeDefinitions {
		t.Attributes[a.AttributeName] = a.AttributeType
	}
	for _, i := range p.GlobalSecondaryIndexes {
		t.Indexes = append(t.Indexes, Index{Name: i.IndexName, Key: i.KeySchema.key(), Projection: i.Projection.ProjectionType})
	}
	if p.TimeToLiveSpecification != nil && p.TimeToLiveSpecification.Enabled {
		t.TTL = p.TimeToLiveSpecification.AttributeName
	}
	b.s.Table = t
	return nil
}

// queueAttributes are the properties of a queue that the API calls attributes of the same name.
// Encryption is left out: servers of this machine have no keys.
var queueAttributes = []string{"VisibilityTimeout", "MessageRetentionPeriod", "ReceiveMessageWaitTimeSeconds", "DelaySeconds", "MaximumMessageSize"}

func (b *builder) queue(id, name string, raw []byte) error {
	var p map[string]any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		return err
	}
	url, err := b.r.Resolve(map[string]any{"Ref": id})
	if err != nil {
		return err
	}
	q := Queue{Name: name, URL: template.Text(url), ARN: b.r.ARN("sqs", name), Attributes: map[string]string{}}
	for _, attribute := range queueAttributes {
		if value, there := p[attribute]; there {
			q.Attributes[attribute] = template.Text(value)
		}
	}
	for _, attribute := range []string{"RedrivePolicy", "RedriveAllowPolicy"} {
		policy, there := p[attribute].(map[string]any)
		if !there {
			continue
		}
		q.Attributes[attribute] = template.Text(policy)
		if attribute == "RedrivePolicy" {
			q.DeadARN = template.Text(policy["deadLetterTargetArn"])
		}
	}
	if strings.HasSuffix(name, ".fifo") || p["FifoQueue"] != nil {
		return errors.New("a FIFO queue: the runtime uses standard queues")
	}
	b.s.Queues[id], b.queues[q.ARN] = q, id
	return nil
}

func (b *builder) function(id, name string, raw []byte) error {
	var p struct {
		Code        struct{ S3Key string }
		Environment struct{ Variables map[string]any }
		Timeout     number
		MemorySize  number
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	f := Function{ID: id, Name: name, Code: p.Code.S3Key, Environment: map[string]string{},
		Timeout: time.Duration(p.Timeout) * time.Second, Memory: int(p.MemorySize)}
	for name, value := range p.Environment.Variables {
		f.Environment[name] = template.Text(value)
	}
	if f.Timeout == 0 {
		f.Timeout = 3 * time.Second // Lambda's own
	}
	b.s.Functions[id], b.names[name] = f, id
	return nil
}
