package awsdouble

import (
	"cmp"
	"slices"
)

// table is one DynamoDB table. It is seen and changed under the double's lock only.
type table struct {
	name    string
	keys    keySchema
	types   map[string]string // of key attributes, of the table and of its indexes
	rows    shelf
	stale   index // what reads see that do not ask for consistency
	indexes []*index
	made    createTable // what it was made from, for DescribeTable
	since   float64
	ttl     string // the attribute, empty if off
	backups bool
}

// keySchema names the attributes of a key. sort may be empty.
type keySchema struct{ hash, sort string }

func (k keySchema) names() []string {
	if k.sort == "" {
		return []string{k.hash}
	}
	return []string{k.hash, k.sort}
}

func (k keySchema) of(it item) item {
	key := item{}
	for _, name := range k.names() {
		if v, ok := it[name]; ok {
			key[name] = v
		}
	}
	return key
}

// complete says whether the item has all of the key: one that has not is not in the index.
func (k keySchema) complete(it item) bool { return len(k.of(it)) == len(k.names()) }

// shelf keeps items by partition, each partition in the order of its sort key.
type shelf struct {
	keys       keySchema
	partitions map[string][]row
}

// row is an item on a shelf. Where sort keys are equal, which happens in an index, the table's own
// key decides.
type row struct {
	sort value
	tie  string
	item item
}

func (s *shelf) row(it item, tie string) row { return row{it[s.keys.sort], tie, it} }

func (r row) compare(o row) int {
	return cmp.Or(r.sort.order(o.sort), cmp.Compare(r.tie, o.tie))
}

// order is compare for a sort key that may not exist at all.
func (v value) order(o value) int {
	if v.kind == "" {
		return 0
	}
	return v.compare(o)
}

func (s *shelf) find(it item, tie string) (partition string, at int, there bool) {
	partition = it[s.keys.hash].code()
	at, there = slices.BinarySearchFunc(s.partitions[partition], s.row(it, tie), row.compare)
	return partition, at, there
}

func (s *shelf) get(key item) item {
	partition, at, there := s.find(key, "")
	if !there {
		return nil
	}
	return s.partitions[partition][at].item
}

// change takes the old item off and puts the new one on; either may be nil.
func (s *shelf) change(old, new item, tie string) {
	if s.partitions == nil {
		s.partitions = map[string][]row{}
	}
	if old != nil {
		if partition, at, there := s.find(old, tie); there {
			s.partitions[partition] = slices.Delete(s.partitions[partition], at, at+1)
			if len(s.partitions[partition]) == 0 {
				delete(s.partitions, partition)
			}
		}
	}
	if new != nil {
		partition, at, _ := s.find(new, tie)
		s.partitions[partition] = slices.Insert(s.partitions[partition], at, s.row(new, tie))
	}
}

// index is a global secondary index, or what stands for a table where reads lag.
type index struct {
	name       string
	keys       keySchema
	projection string
	include    []string
	rows       shelf
	behind     []indexChange // what the table has and the index does not show yet
}

type indexChange struct {
	old, new item
	tie      string
}

// projected is what the index holds of the item, nil if it is not in it.
func (x *index) projected(t *table, it item) item {
	if it == nil || !x.keys.complete(it) {
		return nil
	}
	if x.projection == "ALL" {
		return it
	}
	out := item{}
	for _, name := range slices.Concat(t.keys.names(), x.keys.names(), x.include) {
		if v, ok := it[name]; ok {
			out[name] = v
		}
	}
	return out
}

// cost is what DynamoDB bills for carrying a change into the index.
func (x *index) cost(old, new item) float64 {
	switch {
	case old == nil && new == nil || old.equal(new):
		return 0
	case old == nil:
		return writeUnits(new.size())
	case new == nil:
		return writeUnits(old.size())
	case x.keys.of(old).equal(x.keys.of(new)):
		return writeUnits(max(old.size(), new.size()))
	}
	return writeUnits(old.size()) + writeUnits(new.size())
}

func (x *index) change(old, new item, tie string, lag int) {
	x.behind = append(x.behind, indexChange{old, new, tie})
	x.settle(lag)
}

// settle shows all changes but the last ones.
func (x *index) settle(lag int) {
	for len(x.behind) > lag {
		c := x.behind[0]
		x.behind = x.behind[1:]
		x.rows.change(c.old, c.new, c.tie)
	}
}

// store replaces old by new, either of which may be nil, in the table and its indexes.
func (d *Double) store(t *table, old, new item, m *meter) {
	it := new
	if it == nil {
		it = old
	}
	if it == nil {
		return
	}
	t.rows.change(old, new, "")
	t.stale.change(old, new, "", d.readLag)
	tie := t.tie(it)
	for _, x := range t.indexes {
		before, after := x.projected(t, old), x.projected(t, new)
		m.index(t.name, x.name, x.cost(before, after))
		x.change(before, after, tie, d.indexLag)
	}
}

func (t *table) tie(it item) string {
	tie := ""
	for _, name := range t.keys.names() {
		tie += it[name].code() + "\x00"
	}
	return tie
}

// seen are the items of the table as a read finds them.
func (t *table) seen(consistent bool) *shelf {
	if consistent {
		return &t.rows
	}
	return &t.stale.rows
}

func (t *table) index(name string) *index {
	for _, x := range t.indexes {
		if x.name == name {
			return x
		}
	}
	return nil
}
