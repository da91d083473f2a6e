package awsdouble

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
)

// pageRequest is what Query and Scan have in common.
type pageRequest struct {
	expressions
	TableName              string
	IndexName              string
	ConsistentRead         bool
	ExclusiveStartKey      item
	FilterExpression       *string
	Limit                  *int
	ProjectionExpression   *string
	ReturnConsumedCapacity string
	Select                 string
}

type queryRequest struct {
	pageRequest
	KeyConditionExpression *string
	ScanIndexForward       *bool
}

type scanRequest struct {
	pageRequest
	Segment, TotalSegments *int
}

// source is where a page is read from, and what it shows of it.
type source struct {
	table *table
	index *index // nil is the table itself
	keys  keySchema
	rows  *shelf
}

func (d *Double) source(in *pageRequest) (s source, err error) {
	if s.table, err = d.table(in.TableName); err != nil {
		return s, err
	}
	s.keys, s.rows = s.table.keys, s.table.seen(in.ConsistentRead)
	if in.IndexName == "" {
		return s, nil
	}
	if s.index = s.table.index(in.IndexName); s.index == nil {
		return s, invalid("The table does not have the specified index: %s", in.IndexName)
	}
	s.keys, s.rows = s.index.keys, &s.index.rows
	if in.ConsistentRead {
		return s, invalid("Consistent reads are not supported on global secondary indexes")
	}
	return s, nil
}

func (d *Double) query(c *call, in *queryRequest) (any, error) {
	s, err := d.source(&in.pageRequest)
	if err != nil {
		return nil, err
	}
	names, err := in.placeholders()
	if err != nil {
		return nil, err
	}
	if in.KeyConditionExpression == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	k, err := names.parseKeyCondition(*in.KeyConditionExpression, s.keys, s.table.types)
	if err != nil {
		return nil, err
	}
	forward := in.ScanIndexForward == nil || *in.ScanIndexForward
	rows := s.within(k, forward)
	if start := in.ExclusiveStartKey; start != nil {
		if err := s.checkStart(start); err != nil {
			return nil, err
		}
		if !start[s.keys.hash].equal(k.hash) || !k.sort.holds(start) {
			return nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
		}
		rows = s.after(rows, start, forward)
	}
	return s.page(c, &in.pageRequest, names, rows, s.keys.names())
}

// within are the rows of a key range in the order that is asked for.
func (s source) within(k keyRange, forward bool) (rows []row) {
	for _, r := range s.rows.partitions[k.hash.code()] {
		if k.sort.holds(r.item) {
			rows = append(rows, r)
		}
	}
	if !forward {
		slices.Reverse(rows)
	}
	return rows
}

func (s source) after(rows []row, start item, forward bool) []row {
	at := s.rows.row(start, s.tie(start))
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		order := r.compare(at)
		return order == 0 || (order < 0) == forward
	})
}

// tie is what tells rows of an index apart whose keys are equal.
func (s source) tie(it item) string {
	if s.index == nil {
		return ""
	}
	return s.table.tie(it)
}

// startKey is the form of a LastEvaluatedKey: the table's key, and the index's with it.
func (s source) startKey(it item) item {
	key := s.table.keys.of(it)
	maps.Copy(key, s.keys.of(it))
	return key
}

func (s source) checkStart(start item) error {
	if key := s.startKey(start); len(key) != len(start) || !s.table.keys.complete(key) || !s.keys.complete(key) {
		return invalid("The provided starting key is invalid: The provided key element does not match the schema")
	}
	for name, v := range start {
		if v.kind != s.table.types[name] {
			return invalid("The provided starting key is invalid: The provided key element does not match the schema")
		}
	}
	return nil
}

func (d *Double) scan(c *call, in *scanRequest) (any, error) {
	s, err := d.source(&in.pageRequest)
	if err != nil {
		return nil, err
	}
	if in.Segment != nil || in.TotalSegments != nil {
		return nil, unknown("parameter Segment of a scan")
	}
	names, err := in.placeholders()
	if err != nil {
		return nil, err
	}
	rows := s.everything()
	if start := in.ExclusiveStartKey; start != nil {
		if err := s.checkStart(start); err != nil {
			return nil, err
		}
		rows = s.afterScanned(rows, start)
	}
	return s.page(c, &in.pageRequest, names, rows, nil)
}

// everything is in the order of a hash of the partition, which is to say in none that a caller
// could rely on.
func (s source) everything() (rows []row) {
	for _, partition := range slices.SortedFunc(maps.Keys(s.rows.partitions), scatter) {
		rows = append(rows, s.rows.partitions[partition]...)
	}
	return rows
}

func scatter(a, b string) int {
	return cmp.Or(cmp.Compare(scattered(a), scattered(b)), cmp.Compare(a, b))
}

func scattered(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s)) // never fails
	return h.Sum64()
}

func (s source) afterScanned(rows []row, start item) []row {
	at, partition := s.rows.row(start, s.tie(start)), start[s.keys.hash].code()
	return slices.DeleteFunc(rows, func(r row) bool {
		return cmp.Or(scatter(r.item[s.keys.hash].code(), partition), r.compare(at)) <= 0
	})
}

// page reads rows until the limit or a megabyte is reached. What the filter hides is read and
// billed all the same.
func (s source) page(c *call, in *pageRequest, names *placeholders, rows []row, keys []string) (any, error) {
	filter, paths, err := s.filters(in, names, keys)
	if err != nil {
		return nil, err
	}
	if in.Limit != nil && *in.Limit < 1 {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: "+
			"Member must have value greater than or equal to 1", *in.Limit)
	}
	items, out, size := []item{}, map[string]any{}, 0
	scanned := 0
	for _, r := range rows {
		scanned++
		size += r.item.size()
		if filter.holds(r.item) {
			items = append(items, shown(r.item, paths))
		}
		if in.Limit != nil && scanned == *in.Limit || size >= maxPage {
			out["LastEvaluatedKey"] = s.startKey(r.item)
			break
		}
	}
	c.meter.read(s.table, s.index, readUnits(size, in.ConsistentRead))
	out["Count"], out["ScannedCount"] = len(items), scanned
	if in.Select != "COUNT" {
		out["Items"] = items
	}
	return c.withCapacity(out, in.ReturnConsumedCapacity), nil
}

// filters reads the filter and the projection. keys are attributes that the filter may not name.
func (s source) filters(in *pageRequest, names *placeholders, keys []string) (*condition, []path, error) {
	filter, err := names.parseCondition("FilterExpression", in.FilterExpression)
	if err != nil {
		return nil, nil, err
	}
	paths, err := names.parseProjection(in.ProjectionExpression)
	if err != nil {
		return nil, nil, err
	}
	if err := names.unused(); err != nil {
		return nil, nil, err
	}
	if name := filter.named(keys); name != "" {
		return nil, nil, invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
	}
	return filter, paths, s.checkSelect(in.Select, paths)
}

// named is the first of the names that the condition looks at.
func (c *condition) named(names []string) string {
	if c == nil {
		return ""
	}
	for _, o := range c.operands {
		if len(o.path) > 0 && slices.Contains(names, o.path[0].name) {
			return o.path[0].name
		}
	}
	for _, sub := range c.of {
		if name := sub.named(names); name != "" {
			return name
		}
	}
	return ""
}

func (s source) checkSelect(what string, paths []path) error {
	switch what {
	case "", "COUNT":
		if what == "COUNT" && paths != nil {
			return invalid("Cannot specify the ProjectionExpression when choosing to get only the Count")
		}
	case "SPECIFIC_ATTRIBUTES":
		if paths == nil {
			return invalid("Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	case "ALL_ATTRIBUTES":
		if s.index != nil && s.index.projection != "ALL" {
			return invalid("One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global secondary index %s "+
				"because its projection type is not ALL", s.index.name)
		}
	case "ALL_PROJECTED_ATTRIBUTES":
		if s.index == nil {
			return invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
		}
	default:
		return invalid("1 validation error detected: Value '%s' at 'select' failed to satisfy constraint", what)
	}
	return s.checkProjected(paths)
}

func (s source) checkProjected(paths []path) error {
	if s.index == nil || s.index.projection == "ALL" {
		return nil
	}
	held := slices.Concat(s.table.keys.names(), s.keys.names(), s.index.include)
	for _, p := range paths {
		if !slices.Contains(held, p[0].name) {
			return invalid("One or more parameter values were invalid: Global secondary index %s does not project [%s]", s.index.name, p[0].name)
		}
	}
	return nil
}
