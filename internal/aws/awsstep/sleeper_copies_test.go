package awsstep

import (
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/store/dynamo/bodyform"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/headform"
)

type item = map[string]dynamotypes.AttributeValue

// sleeper is a thread that waits for one answer, as it is stored, and what differs between it and
// another one: the random texts of its ids, and when it began.
type sleeper struct {
	items []item
	drawn
}

type drawn struct {
	thread, claim, suspension string // the random parts
	born                      int64
}

func (s drawn) run() string { return "run_" + s.thread + "_0" }

// target is the id of the suspension.
func (s drawn) target() string { return "sus_2_" + s.suspension + "_" + s.thread }

var asked = regexp.MustCompile(`^sus_2_([a-z2-7]+)_`)

// read reads a thread that has a head and segments, and nothing else.
func (d *deployed) read(thread string) (s sleeper) {
	d.Helper()
	pk := "T#acme#" + thread
	out, err := d.double.DynamoDB().Query(d.Context(), &dynamodb.QueryInput{TableName: aws.String("table"), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": &dynamotypes.AttributeValueMemberS{Value: pk}}})
	d.must(err)
	s.items, s.thread = out.Items, strings.TrimPrefix(thread, "thr_")
	for _, it := range s.items {
		if sk := textOf(it["sk"]); sk != "#H" {
			if !strings.HasPrefix(sk, "S#") {
				d.Fatalf("the thread has an item %s", sk)
			}
			continue
		}
		s.claim = textOf(it["claim"])
		born, _, _ := strings.Cut(textOf(it["ls"]), "#")
		s.born, err = strconv.ParseInt(born, 10, 64)
		d.must(err)
		for _, call := range it["calls"].(*dynamotypes.AttributeValueMemberM).Value {
			found := asked.FindStringSubmatch(textOf(call.(*dynamotypes.AttributeValueMemberM).Value["sus"]))
			if found == nil {
				d.Fatalf("the run waits for no answer: %v", call)
			}
			s.suspension = found[1]
		}
	}
	return s
}

func textOf(v dynamotypes.AttributeValue) string {
	s, _ := v.(*dynamotypes.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// mostInBatch is DynamoDB's limit.
const mostInBatch = 25

// write stores copies of a thread.
func (d *deployed) write(s sleeper, draws []drawn) {
	d.Helper()
	var requests []dynamotypes.WriteRequest
	for _, to := range draws {
		for _, it := range s.as(to) {
			requests = append(requests, dynamotypes.WriteRequest{PutRequest: &dynamotypes.PutRequest{Item: it}})
		}
	}
	db := d.double.DynamoDB()
	for some := range slices.Chunk(requests, mostInBatch) {
		_, err := db.BatchWriteItem(d.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]dynamotypes.WriteRequest{"table": some}})
		d.must(err)
	}
}

// as are the items of a thread that other ids were drawn for, and that began at another time.
func (s sleeper) as(to drawn) (copied []item) {
	c := copying{from: s.drawn, to: to, names: strings.NewReplacer(s.thread, to.thread, s.claim, to.claim, s.suspension, to.suspension)}
	for _, it := range s.items {
		out := item{}
		for name, v := range it {
			out[name] = c.value(name, v)
		}
		if shard, listed := out["dsh"].(*dynamotypes.AttributeValueMemberS); listed {
			shard.Value = shardOf(textOf(out["pk"]))
		}
		copied = append(copied, out)
	}
	return copied
}

// shardOf is the partition of the index of due entries that a stack with 16 of them writes to.
func shardOf(pk string) string {
	h := fnv.New32a()
	h.Write([]byte(pk))
	return fmt.Sprint("D#", h.Sum32()%16)
}

type copying struct {
	from, to drawn
	names    *strings.Replacer
}

func (c copying) value(name string, v dynamotypes.AttributeValue) dynamotypes.AttributeValue {
	switch v := v.(type) {
	case *dynamotypes.AttributeValueMemberS:
		return &dynamotypes.AttributeValueMemberS{Value: c.text(v.Value)}
	case *dynamotypes.AttributeValueMemberN:
		return &dynamotypes.AttributeValueMemberN{Value: c.time(v.Value)}
	case *dynamotypes.AttributeValueMemberM:
		out := item{}
		for name, one := range v.Value {
			out[c.text(name)] = c.value(name, one)
		}
		return &dynamotypes.AttributeValueMemberM{Value: out}
	case *dynamotypes.AttributeValueMemberB:
		return &dynamotypes.AttributeValueMemberB{Value: c.packed(name, v.Value)}
	}
	panic(fmt.Sprintf("a head has no %T", v))
}

// packed copies what is stored in another form.
func (c copying) packed(name string, v []byte) []byte {
	switch name {
	case "x", "j": // of heads
		return headform.Pack(c.text(headform.Unpack(v)))
	case bodyform.Plain, bodyform.Deflated, bodyform.Compact:
		// bodies of segments know their thread
		body, err := bodyform.Unpack(name, v, "thr_"+c.from.thread)
		if err != nil {
			panic(err)
		}
		_, v = bodyform.PackSegment([]byte(c.text(string(body))), "thr_"+c.to.thread)
	}
	return v // hashes
}

var milliseconds = regexp.MustCompile(`\b0{0,2}\d{13}\b`)

func (c copying) text(s string) string {
	return milliseconds.ReplaceAllStringFunc(c.names.Replace(s), c.time)
}

// time moves a number that is a time, at most some years after the thread began.
func (c copying) time(digits string) string {
	const years = 5 * 366 * 24 * 3600 * 1000
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < c.from.born || n > c.from.born+years {
		return digits
	}
	return fmt.Sprintf("%0*d", len(digits), n-c.from.born+c.to.born)
}

// timeless are items without the time of the store's clock, which is the machine's.
func timeless(items []item) (all []item) {
	for _, it := range items {
		it = maps.Clone(it)
		if place := textOf(it["ls"]); strings.HasPrefix(textOf(it["lp"]), "F#") {
			_, rest, _ := strings.Cut(place, "#")
			it["ls"] = &dynamotypes.AttributeValueMemberS{Value: rest}
		}
		all = append(all, it)
	}
	return all
}
