package awsdouble

import (
	"slices"
	"strings"
)

// expressions are the parameters that every request with expressions has.
type expressions struct {
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]value
}

// placeholders checks the two maps; an empty one is refused, as it is a mistake of whoever built
// the request.
func (e expressions) placeholders() (*placeholders, error) {
	if e.ExpressionAttributeNames != nil && len(e.ExpressionAttributeNames) == 0 {
		return nil, invalid("ExpressionAttributeNames must not be empty")
	}
	if e.ExpressionAttributeValues != nil && len(e.ExpressionAttributeValues) == 0 {
		return nil, invalid("ExpressionAttributeValues must not be empty")
	}
	return newPlaceholders(e.ExpressionAttributeNames, e.ExpressionAttributeValues), nil
}

// writeRequest is what the three writes of one item have in common, alone or in a transaction.
type writeRequest struct {
	expressions
	TableName                           string
	ConditionExpression                 *string
	ReturnValuesOnConditionCheckFailure string
}

type writeAnswer struct {
	ReturnValues                string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

type putItem struct {
	writeRequest
	writeAnswer
	Item item
}

type updateItem struct {
	writeRequest
	writeAnswer
	Key              item
	UpdateExpression *string
}

type deleteItem struct {
	writeRequest
	writeAnswer
	Key item
}

// write is one item's write, checked as far as can be without looking at the item.
type write struct {
	verb      string // Put Update Delete ConditionCheck
	table     *table
	key       item
	put       item
	actions   []action
	condition *condition
	tell      bool // ALL_OLD when the condition fails
}

// prepare reads everything of a write but its key and item. update is nil for all but an update.
func (d *Double) prepare(verb string, in writeRequest, key item, update *string) (w write, err error) {
	w.verb, w.key = verb, key
	if w.table, err = d.table(in.TableName); err != nil {
		return w, err
	}
	switch in.ReturnValuesOnConditionCheckFailure {
	case "", "NONE", "ALL_OLD":
		w.tell = in.ReturnValuesOnConditionCheckFailure == "ALL_OLD"
	default:
		return w, invalid("ReturnValuesOnConditionCheckFailure is NONE or ALL_OLD, not %s", in.ReturnValuesOnConditionCheckFailure)
	}
	names, err := in.placeholders()
	if err != nil {
		return w, err
	}
	if w.actions, err = names.parseUpdate(update); err != nil {
		return w, err
	}
	if w.condition, err = names.parseCondition("ConditionExpression", in.ConditionExpression); err != nil {
		return w, err
	}
	if err := names.unused(); err != nil {
		return w, err
	}
	return w, w.table.checkActions(w.actions)
}

func (d *Double) preparePut(in writeRequest, it item) (w write, err error) {
	if w, err = d.prepare("Put", in, nil, nil); err != nil {
		return w, err
	}
	w.put, w.key = it, w.table.keys.of(it)
	return w, w.table.checkItem(it)
}

func (d *Double) prepareKeyed(verb string, in writeRequest, key item, update *string) (w write, err error) {
	if w, err = d.prepare(verb, in, key, update); err != nil {
		return w, err
	}
	return w, w.table.checkKey(key)
}

// plan says what the item is and what it becomes. It changes nothing.
func (w write) plan() (old, new item, err error) {
	old = w.table.rows.get(w.key)
	if !w.condition.holds(old) {
		refused := refuse("ConditionalCheckFailedException", "The conditional request failed")
		if w.tell && old != nil {
			refused.fields = map[string]any{"Item": old}
		}
		return old, old, refused
	}
	switch w.verb {
	case "Put":
		return old, w.put, nil
	case "Delete":
		return old, nil, nil
	case "ConditionCheck":
		return old, old, nil
	}
	base := old
	if base == nil {
		base = w.key
	}
	if new, err = apply(base, w.actions); err == nil {
		err = w.table.checkUpdated(new)
	}
	return old, new, err
}

// charged is the size that a write is billed by, done or refused: the larger of before and after.
func (w write) charged(old, new item) int { return max(old.size(), new.size(), w.put.size()) }

// run is a write of its own. A refused condition costs like the write.
func (d *Double) run(c *call, w write) (old, new item, err error) {
	old, new, err = w.plan()
	if err != nil {
		if errorOf(err).code == "ConditionalCheckFailedException" {
			c.meter.write(w.table, w.charged(old, nil))
		}
		return old, nil, err
	}
	c.meter.write(w.table, w.charged(old, new))
	d.store(w.table, old, new, c.meter)
	return old, new, nil
}

func (d *Double) putItem(c *call, in *putItem) (any, error) {
	if err := in.allow("NONE", "ALL_OLD"); err != nil {
		return nil, err
	}
	w, err := d.preparePut(in.writeRequest, in.Item)
	if err != nil {
		return nil, err
	}
	old, _, err := d.run(c, w)
	return in.answer(c, old, nil, nil), err
}

func (d *Double) deleteItem(c *call, in *deleteItem) (any, error) {
	if err := in.allow("NONE", "ALL_OLD"); err != nil {
		return nil, err
	}
	w, err := d.prepareKeyed("Delete", in.writeRequest, in.Key, nil)
	if err != nil {
		return nil, err
	}
	old, _, err := d.run(c, w)
	return in.answer(c, old, nil, nil), err
}

func (d *Double) updateItem(c *call, in *updateItem) (any, error) {
	if err := in.allow("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"); err != nil {
		return nil, err
	}
	w, err := d.prepareKeyed("Update", in.writeRequest, in.Key, in.UpdateExpression)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(in.ReturnValues, "UPDATED_") && slices.ContainsFunc(targets(w.actions), path.inList) {
		return nil, unknown("ReturnValues %s of a member of a list, as servers do not agree on it", in.ReturnValues)
	}
	old, new, err := d.run(c, w)
	return in.answer(c, old, new, targets(w.actions)), err
}

func (a writeAnswer) allow(values ...string) error {
	if a.ReturnItemCollectionMetrics != "" && a.ReturnItemCollectionMetrics != "NONE" {
		return unknown("ReturnItemCollectionMetrics %s", a.ReturnItemCollectionMetrics)
	}
	if a.ReturnValues != "" && !slices.Contains(values, a.ReturnValues) {
		return invalid("Return values set to invalid value")
	}
	return nil
}

func (a writeAnswer) answer(c *call, old, new item, changed []path) map[string]any {
	out := map[string]any{}
	it := item(nil)
	switch a.ReturnValues {
	case "ALL_OLD":
		it = old
	case "ALL_NEW":
		it = new
	case "UPDATED_OLD":
		it = old.project(changed)
	case "UPDATED_NEW":
		it = new.project(changed)
	}
	if len(it) > 0 {
		out["Attributes"] = it
	}
	return c.withCapacity(out, a.ReturnConsumedCapacity)
}

// withCapacity adds what one request to one table consumed.
func (c *call) withCapacity(out map[string]any, level string) map[string]any {
	if all := c.meter.capacity(level, false); all != nil {
		out["ConsumedCapacity"] = all[0]
	}
	return out
}

// read is what the reads of items by their key have in common.
type read struct {
	ExpressionAttributeNames map[string]string
	ProjectionExpression     *string
}

func (r read) paths() ([]path, error) {
	names, err := expressions{ExpressionAttributeNames: r.ExpressionAttributeNames}.placeholders()
	if err != nil {
		return nil, err
	}
	paths, err := names.parseProjection(r.ProjectionExpression)
	if err != nil {
		return nil, err
	}
	return paths, names.unused()
}

func shown(it item, paths []path) item {
	if paths == nil {
		return it
	}
	if it = it.project(paths); it == nil {
		return item{}
	}
	return it
}

type getItem struct {
	read
	TableName              string
	Key                    item
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

func (d *Double) getItem(c *call, in *getItem) (any, error) {
	t, err := d.table(in.TableName)
	if err != nil {
		return nil, err
	}
	paths, err := in.paths()
	if err != nil {
		return nil, err
	}
	if err := t.checkKey(in.Key); err != nil {
		return nil, err
	}
	it := t.seen(in.ConsistentRead).get(in.Key)
	c.meter.read(t, nil, readUnits(it.size(), in.ConsistentRead))
	out := map[string]any{}
	if it != nil {
		out["Item"] = shown(it, paths)
	}
	return c.withCapacity(out, in.ReturnConsumedCapacity), nil
}
