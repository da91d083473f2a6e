package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Resolve reads what the SAM translator made.
func Resolve(cloud []byte, o Options) (*Stack, error) {
	r, err := newResolver(cloud, o)
	if err != nil {
		return nil, err
	}
	b := &reader{r: r, names: map[string]string{}, queues: map[string]string{}, integrations: map[string]integration{},
		s: &Stack{API: API{Authorizers: map[string]Authorizer{}}, Name: o.Name, Queues: map[string]Queue{}, Functions: map[string]Function{}}}
	// What others name comes first.
	first := []string{"AWS::Lambda::Function", "AWS::SQS::Queue", "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Authorizer", ""}
	for _, wanted := range first {
		for _, id := range slices.Sorted(maps.Keys(r.resources)) {
			kind := r.resources[id].Type
			if early := slices.Contains(first, kind); wanted != kind && (wanted != "" || early) {
				continue
			}
			if err := b.read(id); err != nil {
				return nil, fmt.Errorf("%s: %w", id, err)
			}
		}
	}
	if b.s.Table.Name == "" {
		return nil, errors.New("the template has no table")
	}
	slices.SortFunc(b.s.API.Routes, func(a, b Route) int { return strings.Compare(a.Key(), b.Key()) })
	return b.s, nil
}

// reader puts one resource after the other into the stack.
type reader struct {
	r      *resolver
	s      *Stack
	names  map[string]string // logical id of a function, by its name
	queues map[string]string // logical id of a queue, by its ARN

	integrations map[string]integration // by the name that a route has for it
}

func (b *reader) read(id string) error {
	res := b.r.resources[id]
	there, err := b.r.holds(res.Condition)
	if err != nil || !there {
		return err
	}
	properties, err := b.r.resolve(res.Properties)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(properties)
	if err != nil {
		return err
	}
	name, err := b.r.physical(id)
	if err != nil {
		return err
	}
	switch res.Type {
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

func (b *reader) table(name string, raw []byte) error {
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

// queueAttributes are the properties of a queue that the API calls attributes of the same name. Encryption is left out: servers of this
// machine have no keys.
var queueAttributes = []string{"VisibilityTimeout", "MessageRetentionPeriod", "ReceiveMessageWaitTimeSeconds", "DelaySeconds", "MaximumMessageSize"}

func (b *reader) queue(id, name string, raw []byte) error {
	var p map[string]any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&p); err != nil {
		return err
	}
	url, err := b.r.ref(id)
	if err != nil {
		return err
	}
	q := Queue{Name: name, URL: text(url), ARN: b.r.arn("sqs", name), Attributes: map[string]string{}}
	for _, attribute := range queueAttributes {
		if value, there := p[attribute]; there {
			q.Attributes[attribute] = text(value)
		}
	}
	for _, attribute := range []string{"RedrivePolicy", "RedriveAllowPolicy"} {
		policy, there := p[attribute].(map[string]any)
		if !there {
			continue
		}
		q.Attributes[attribute] = text(policy)
		if attribute == "RedrivePolicy" {
			q.DeadARN = text(policy["deadLetterTargetArn"])
		}
	}
	if strings.HasSuffix(name, ".fifo") || p["FifoQueue"] != nil {
		return errors.New("a FIFO queue: the runtime uses standard queues")
	}
	b.s.Queues[id], b.queues[q.ARN] = q, id
	return nil
}

func (b *reader) function(id, name string, raw []byte) error {
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
		f.Environment[name] = text(value)
	}
	if f.Timeout == 0 {
		f.Timeout = 3 * time.Second // Lambda's own
	}
	b.s.Functions[id], b.names[name] = f, id
	return nil
}
