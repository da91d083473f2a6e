package awsdouble

import "maps"

// Units is consumed capacity. Read is of tables and indexes, Write of tables alone, IndexWrite of
// indexes.
type Units struct{ Read, Write, IndexWrite float64 }

// Units is what was consumed since the double was made or ResetCounts.
func (d *Double) Units() Units {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.units
}

// Requests counts the requests that came in by operation, refused and faulted ones included; copies
// that Release lands are not.
func (d *Double) Requests() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.requests)
}

// ResetCounts sets Units and Requests back to nothing. Unknown stays.
func (d *Double) ResetCounts() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.units, d.requests = Units{}, map[string]int{}
}

// meter adds up what one request consumes, by table.
type meter struct {
	factor float64 // 2 in a transaction
	tables map[string]*consumption
	order  []string
}

type consumption struct {
	read, write float64
	reads       map[string]float64 // of indexes
	writes      map[string]float64
}

func (m *meter) table(name string) *consumption {
	c := m.tables[name]
	if c == nil {
		c = &consumption{reads: map[string]float64{}, writes: map[string]float64{}}
		m.tables[name] = c
		m.order = append(m.order, name)
	}
	return c
}

func (m *meter) read(t *table, x *index, units float64) {
	c := m.table(t.name)
	if x != nil {
		c.reads[x.name] += units
		return
	}
	c.read += units * m.factor
}

func (m *meter) write(t *table, size int) { m.table(t.name).write += writeUnits(size) * m.factor }

func (m *meter) index(table, name string, units float64) {
	if units > 0 {
		m.table(table).writes[name] += units
	}
}

func (m *meter) total() (u Units) {
	for _, c := range m.tables {
		u.Read += c.read + sum(c.reads)
		u.Write += c.write
		u.IndexWrite += sum(c.writes)
	}
	return u
}

func sum(m map[string]float64) (s float64) {
	for _, v := range m {
		s += v
	}
	return s
}

// writeUnits is one for each KB begun. An item that is not there costs one too.
func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

// readUnits is one for each 4 KB begun, half of that if the read may be stale.
func readUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if consistent {
		return units
	}
	return units / 2
}

// capacity is the ConsumedCapacity of an answer: one for each table, nil if nobody asked. split
// tells reads from writes, as only transactions do.
func (m *meter) capacity(level string, split bool) (all []map[string]any) {
	if level != "TOTAL" && level != "INDEXES" {
		return nil
	}
	for _, name := range m.order {
		c := m.tables[name]
		reads, writes := c.read+sum(c.reads), c.write+sum(c.writes)
		one := map[string]any{"TableName": name, "CapacityUnits": reads + writes}
		divide(one, reads, writes, split)
		if level == "INDEXES" {
			c.detail(one, split)
		}
		all = append(all, one)
	}
	return all
}

func (c *consumption) detail(one map[string]any, split bool) {
	one["Table"] = unitsOf(c.read, c.write, split)
	indexes := map[string]any{}
	for name := range c.reads {
		indexes[name] = unitsOf(c.reads[name], 0, split)
	}
	for name := range c.writes {
		indexes[name] = unitsOf(c.reads[name], c.writes[name], split)
	}
	if len(indexes) > 0 {
		one["GlobalSecondaryIndexes"] = indexes
	}
}

func unitsOf(read, write float64, split bool) map[string]any {
	u := map[string]any{"CapacityUnits": read + write}
	divide(u, read, write, split)
	return u
}

func divide(u map[string]any, read, write float64, split bool) {
	if split && read > 0 {
		u["ReadCapacityUnits"] = read
	}
	if split && write > 0 {
		u["WriteCapacityUnits"] = write
	}
}
