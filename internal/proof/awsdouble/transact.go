package awsdouble

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

type transactWrite struct {
	TransactItems               []transactPart
	ClientRequestToken          string
	ReturnConsumedCapacity      string
	ReturnItemCollectionMetrics string
}

type transactPart struct {
	Put *struct {
		writeRequest
		Item item
	}
	Update *struct {
		writeRequest
		Key              item
		UpdateExpression *string
	}
	Delete *struct {
		writeRequest
		Key item
	}
	ConditionCheck *struct {
		writeRequest
		Key item
	}
}

// reason is why one part of a transaction did not do its share; its code is None if it would have.
type reason struct {
	code, message string
	item          item
}

func canceled(reasons []reason) *apiError {
	var codes []string
	list := make([]map[string]any, len(reasons))
	for i, r := range reasons {
		if r.code == "" {
			r.code = "None"
		}
		codes = append(codes, r.code)
		list[i] = map[string]any{"Code": r.code}
		if r.message != "" {
			list[i]["Message"] = r.message
		}
		if r.item != nil {
			list[i]["Item"] = r.item
		}
	}
	e := refuse("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", joined(codes))
	e.fields = map[string]any{"CancellationReasons": list}
	return e
}

// spentToken is a ClientRequestToken of a transaction that was done.
type spentToken struct {
	digest [sha256.Size]byte
	at     time.Time
}

const tokenLife = 10 * time.Minute

func (d *Double) transactWrite(c *call, in *transactWrite) (any, error) {
	c.meter.factor = 2
	if n := len(in.TransactItems); n == 0 || n > maxActions {
		return nil, invalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: "+
			"Member must have length between 1 and %d, not %d", maxActions, n)
	}
	if err := (writeAnswer{ReturnItemCollectionMetrics: in.ReturnItemCollectionMetrics}).allow(); err != nil {
		return nil, err
	}
	writes, err := d.prepareAll(in.TransactItems)
	if err != nil {
		return nil, err
	}
	done, err := d.spent(c, in.ClientRequestToken, writes)
	if err != nil {
		return nil, err
	}
	if !done {
		if err := d.runAll(c, writes); err != nil {
			return nil, err
		}
		d.spend(c, in.ClientRequestToken)
	}
	return c.withCapacities(map[string]any{}, in.ReturnConsumedCapacity, true), nil
}

func (d *Double) prepareAll(parts []transactPart) (writes []write, err error) {
	seen, size := map[string]bool{}, 0
	for _, part := range parts {
		w, err := d.prepareTransact(part)
		if err != nil {
			return nil, err
		}
		key := w.table.name + "\x00" + w.table.tie(w.key)
		if seen[key] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[key] = true
		size += w.charged(w.key, nil)
		writes = append(writes, w)
	}
	if size > maxTransact {
		return nil, invalid("Collection size of items in the transaction exceeded 4 MB")
	}
	return writes, nil
}

func (d *Double) prepareTransact(part transactPart) (w write, err error) {
	n := 0
	if p := part.Put; p != nil {
		w, err = d.preparePut(p.writeRequest, p.Item)
		n++
	}
	if p := part.Update; p != nil {
		w, err = d.prepareKeyed("Update", p.writeRequest, p.Key, p.UpdateExpression)
		n++
	}
	if p := part.Delete; p != nil {
		w, err = d.prepareKeyed("Delete", p.writeRequest, p.Key, nil)
		n++
	}
	if p := part.ConditionCheck; p != nil {
		w, err = d.prepareKeyed("ConditionCheck", p.writeRequest, p.Key, nil)
		n++
	}
	if n != 1 {
		return w, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	if err == nil && w.verb == "ConditionCheck" && w.condition == nil {
		err = invalid("The expression can not be empty; a ConditionCheck needs a ConditionExpression")
	}
	return w, err
}

// runAll does all or nothing. A cancelled transaction is billed like one that was done.
func (d *Double) runAll(c *call, writes []write) error {
	olds, news, reasons := make([]item, len(writes)), make([]item, len(writes)), make([]reason, len(writes))
	refused := false
	for i, w := range writes {
		var err error
		if olds[i], news[i], err = w.plan(); err != nil {
			reasons[i] = reasonOf(errorOf(err), w, olds[i])
			refused = true
		}
		c.meter.write(w.table, w.charged(olds[i], news[i]))
	}
	if refused {
		return canceled(reasons)
	}
	for i, w := range writes {
		if w.verb != "ConditionCheck" {
			d.store(w.table, olds[i], news[i], c.meter)
		}
	}
	return nil
}

func reasonOf(err *apiError, w write, old item) reason {
	switch err.code {
	case "ConditionalCheckFailedException":
		r := reason{code: "ConditionalCheckFailed", message: err.message}
		if w.tell {
			r.item = old
		}
		return r
	case "ValidationException":
		return reason{code: "ValidationError", message: err.message}
	}
	return reason{code: err.code, message: err.message}
}

// spent says whether the same transaction was done under this token within ten minutes. Reading
// that out costs read units.
func (d *Double) spent(c *call, token string, writes []write) (bool, error) {
	t, ok := d.tokens[token]
	if token == "" || !ok || d.clock().Sub(t.at) >= tokenLife {
		return false, nil
	}
	if t.digest != digest(c.body) {
		return false, refuse("IdempotentParameterMismatchException", "The request uses the same client token as a previous, but non-identical request. "+
			"Do not reuse a client token with different requests, unless the requests are identical")
	}
	for _, w := range writes {
		c.meter.read(w.table, nil, readUnits(w.table.rows.get(w.key).size(), true))
	}
	return true, nil
}

func (d *Double) spend(c *call, token string) {
	if token != "" {
		d.tokens[token] = spentToken{digest(c.body), d.clock()}
	}
}

// digest is of what a transaction asks for, however its members are ordered.
func digest(body []byte) [sha256.Size]byte {
	var m map[string]any
	if json.Unmarshal(body, &m) == nil {
		delete(m, "ClientRequestToken")
		delete(m, "ReturnConsumedCapacity")
		if canonical, err := json.Marshal(m); err == nil {
			body = canonical
		}
	}
	return sha256.Sum256(body)
}

type transactGet struct {
	TransactItems []struct {
		Get *struct {
			read
			TableName string
			Key       item
		}
	}
	ReturnConsumedCapacity string
}

func (d *Double) transactGet(c *call, in *transactGet) (any, error) {
	c.meter.factor = 2
	if n := len(in.TransactItems); n == 0 || n > maxActions {
		return nil, invalid("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: "+
			"Member must have length between 1 and %d, not %d", maxActions, n)
	}
	responses, seen := []map[string]any{}, map[string]bool{}
	for _, part := range in.TransactItems {
		if part.Get == nil {
			return nil, invalid("TransactItems of TransactGetItems contain a Get each")
		}
		t, err := d.table(part.Get.TableName)
		if err != nil {
			return nil, err
		}
		paths, err := part.Get.paths()
		if err != nil {
			return nil, err
		}
		if err := t.checkKey(part.Get.Key); err != nil {
			return nil, err
		}
		if key := t.name + "\x00" + t.tie(part.Get.Key); seen[key] {
			return nil, invalid("Transaction request cannot include multiple operations on one item")
		} else {
			seen[key] = true
		}
		responses = append(responses, d.transactRead(c, t, part.Get.Key, paths))
	}
	return c.withCapacities(map[string]any{"Responses": responses}, in.ReturnConsumedCapacity, true), nil
}

func (d *Double) transactRead(c *call, t *table, key item, paths []path) map[string]any {
	it := t.rows.get(key)
	c.meter.read(t, nil, readUnits(it.size(), true))
	if it == nil {
		return map[string]any{}
	}
	return map[string]any{"Item": shown(it, paths)}
}
