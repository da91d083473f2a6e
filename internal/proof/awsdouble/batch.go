package awsdouble

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

const (
	maxBatchGet   = 100
	maxBatchWrite = 25
	maxBatchSize  = 16 << 20
)

type keysRequest struct {
	ExpressionAttributeNames map[string]string `json:",omitempty"`
	ProjectionExpression     *string           `json:",omitempty"`
	ConsistentRead           bool              `json:",omitempty"`
	Keys                     []item
}

type batchGet struct {
	RequestItems           map[string]keysRequest
	ReturnConsumedCapacity string
}

func (d *Double) batchGet(c *call, in *batchGet) (any, error) {
	total := 0
	for _, r := range in.RequestItems {
		total += len(r.Keys)
	}
	switch {
	case total == 0:
		return nil, invalid("1 validation error detected: Value at 'requestItems' failed to satisfy constraint: " +
			"Member must have length greater than or equal to 1")
	case total > maxBatchGet:
		return nil, invalid("Too many items requested for the BatchGetItem call")
	}
	b := batchReader{d: d, c: c, left: c.batchLimit(total), responses: map[string][]item{}, unprocessed: map[string]keysRequest{}}
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		if err := b.table(name, in.RequestItems[name]); err != nil {
			return nil, err
		}
	}
	out := map[string]any{"Responses": b.responses, "UnprocessedKeys": b.unprocessed}
	return c.withCapacities(out, in.ReturnConsumedCapacity, false), nil
}

func (c *call) batchLimit(n int) int {
	if c.fault.kind == unprocessed {
		return c.fault.n
	}
	return n
}

func (c *call) withCapacities(out map[string]any, level string, split bool) map[string]any {
	if all := c.meter.capacity(level, split); all != nil {
		out["ConsumedCapacity"] = all
	}
	return out
}

type batchReader struct {
	d           *Double
	c           *call
	left        int
	size        int
	responses   map[string][]item
	unprocessed map[string]keysRequest
}

func (b *batchReader) table(name string, in keysRequest) error {
	t, err := b.d.table(name)
	if err != nil {
		return err
	}
	paths, err := read{in.ExpressionAttributeNames, in.ProjectionExpression}.paths()
	if err != nil {
		return err
	}
	if err := t.checkKeys(in.Keys); err != nil {
		return err
	}
	b.responses[name] = []item{}
	for i, key := range in.Keys {
		it := t.seen(in.ConsistentRead).get(key)
		if b.left <= 0 || b.size+it.size() > maxBatchSize {
			in.Keys = in.Keys[i:]
			b.unprocessed[name] = in
			return nil
		}
		b.left--
		b.size += it.size()
		b.c.meter.read(t, nil, readUnits(it.size(), in.ConsistentRead))
		if it != nil {
			b.responses[name] = append(b.responses[name], shown(it, paths))
		}
	}
	return nil
}

func (t *table) checkKeys(keys []item) error {
	seen := map[string]bool{}
	for _, key := range keys {
		if err := t.checkKey(key); err != nil {
			return err
		}
		if seen[t.tie(key)] {
			return invalid("Provided list of item keys contains duplicates")
		}
		seen[t.tie(key)] = true
	}
	return nil
}

type batchPart struct {
	PutRequest    *struct{ Item item } `json:",omitempty"`
	DeleteRequest *struct{ Key item }  `json:",omitempty"`
}

type batchWrite struct {
	RequestItems                map[string][]batchPart
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

func (d *Double) batchWrite(c *call, in *batchWrite) (any, error) {
	total := 0
	for _, parts := range in.RequestItems {
		total += len(parts)
	}
	if total == 0 || total > maxBatchWrite {
		return nil, invalid("1 validation error detected: Value at 'requestItems' failed to satisfy constraint: "+
			"Member must have length between 1 and %d, not %d", maxBatchWrite, total)
	}
	writes, err := d.prepareBatch(in)
	if err != nil {
		return nil, err
	}
	left, unprocessed := c.batchLimit(total), map[string][]batchPart{}
	for _, name := range slices.Sorted(maps.Keys(in.RequestItems)) {
		for i, part := range in.RequestItems[name] {
			if left <= 0 {
				unprocessed[name] = append(unprocessed[name], part)
				continue
			}
			left--
			if _, _, err := d.run(c, writes[name][i]); err != nil {
				return nil, err
			}
		}
	}
	return c.withCapacities(map[string]any{"UnprocessedItems": unprocessed}, in.ReturnConsumedCapacity, false), nil
}

// prepareBatch checks every part before the first is done: a bad one refuses them all.
func (d *Double) prepareBatch(in *batchWrite) (map[string][]write, error) {
	writes := map[string][]write{}
	for name, parts := range in.RequestItems {
		seen := map[string]bool{}
		for _, part := range parts {
			w, err := d.preparePart(name, part)
			if err != nil {
				return nil, err
			}
			if key := w.table.tie(w.key); seen[key] {
				return nil, invalid("Provided list of item keys contains duplicates")
			} else {
				seen[key] = true
			}
			writes[name] = append(writes[name], w)
		}
	}
	return writes, nil
}

func (d *Double) preparePart(name string, part batchPart) (write, error) {
	in := writeRequest{TableName: name}
	switch {
	case (part.PutRequest == nil) == (part.DeleteRequest == nil):
		return write{}, invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of PutRequest and DeleteRequest")
	case part.PutRequest != nil:
		return d.preparePut(in, part.PutRequest.Item)
	}
	return d.prepareKeyed("Delete", in, part.DeleteRequest.Key, nil)
}

// describeBatch fills in what a batch is about.
func (d *Double) describeBatch(c *call, requests map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		var get keysRequest
		var put []batchPart
		if json.Unmarshal(requests[name], &get) != nil && json.Unmarshal(requests[name], &put) != nil {
			return
		}
		for _, key := range get.Keys {
			d.describePart(c, name, key, nil)
		}
		for _, part := range put {
			if part.PutRequest != nil {
				d.describePart(c, name, nil, part.PutRequest.Item)
			} else if part.DeleteRequest != nil {
				d.describePart(c, name, part.DeleteRequest.Key, nil)
			}
		}
	}
}

// print is a key for people and for rules: its values joined by a bar.
func (k keySchema) print(key item) string {
	var parts []string
	for _, name := range k.names() {
		v := key[name]
		if v.kind == "N" {
			parts = append(parts, v.number.String())
		} else {
			parts = append(parts, v.text)
		}
	}
	return strings.Join(parts, "|")
}
