package awsdouble

import (
	"cmp"
	"maps"
	"slices"
)

// createTable is the request, and what a table remembers of it.
type createTable struct {
	TableName                 string
	AttributeDefinitions      []attributeDefinition
	KeySchema                 []keyElement
	GlobalSecondaryIndexes    []globalIndex
	BillingMode               string
	DeletionProtectionEnabled bool
	ProvisionedThroughput     map[string]int `json:",omitempty"`
	SSESpecification          map[string]any `json:",omitempty"`
	StreamSpecification       map[string]any `json:",omitempty"`
	OnDemandThroughput        map[string]int `json:",omitempty"`
	TableClass                string         `json:",omitempty"`
	Tags                      []map[string]string
}

type attributeDefinition struct{ AttributeName, AttributeType string }

type keyElement struct{ AttributeName, KeyType string }

type globalIndex struct {
	IndexName             string
	KeySchema             []keyElement
	Projection            projection
	ProvisionedThroughput map[string]int `json:",omitempty"`
	OnDemandThroughput    map[string]int `json:",omitempty"`
}

type projection struct {
	ProjectionType   string
	NonKeyAttributes []string `json:",omitempty"`
}

type tableName struct{ TableName string }

func (d *Double) createTable(c *call, in *createTable) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if d.tables[in.TableName] != nil {
		return nil, refuse("ResourceInUseException", "Table already exists: %s", in.TableName)
	}
	t := &table{name: in.TableName, keys: schemaOf(in.KeySchema), types: map[string]string{}, made: *in, since: seconds(d.clock())}
	t.rows.keys, t.stale.rows.keys = t.keys, t.keys
	for _, a := range in.AttributeDefinitions {
		t.types[a.AttributeName] = a.AttributeType
	}
	for _, g := range in.GlobalSecondaryIndexes {
		x := &index{name: g.IndexName, keys: schemaOf(g.KeySchema), projection: g.Projection.ProjectionType, include: g.Projection.NonKeyAttributes}
		x.rows.keys = x.keys
		t.indexes = append(t.indexes, x)
	}
	d.tables[t.name] = t
	return map[string]any{"TableDescription": t.describe("CREATING")}, nil
}

func schemaOf(elements []keyElement) (k keySchema) {
	for _, e := range elements {
		if e.KeyType == "HASH" {
			k.hash = e.AttributeName
		} else {
			k.sort = e.AttributeName
		}
	}
	return k
}

func (in *createTable) check() error {
	if err := checkName(in.TableName, "tableName"); err != nil {
		return err
	}
	if err := in.checkBilling(); err != nil {
		return err
	}
	defined := map[string]bool{}
	for _, a := range in.AttributeDefinitions {
		if !ordered(a.AttributeType) {
			return invalid("1 validation error detected: Value '%s' at 'attributeDefinitions' failed to satisfy constraint: "+
				"Member must satisfy enum value set: [B, N, S]", a.AttributeType)
		}
		defined[a.AttributeName] = true
	}
	used := map[string]bool{}
	if err := checkSchema(in.KeySchema, defined, used); err != nil {
		return err
	}
	if err := in.checkIndexes(defined, used); err != nil {
		return err
	}
	if len(used) != len(in.AttributeDefinitions) {
		return invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of " +
			"attributes defined in AttributeDefinitions")
	}
	return nil
}

func (in *createTable) checkBilling() error {
	switch {
	case in.BillingMode == "PAY_PER_REQUEST" && in.ProvisionedThroughput != nil:
		return invalid("One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when " +
			"BillingMode is PAY_PER_REQUEST")
	case in.BillingMode != "PAY_PER_REQUEST" && in.ProvisionedThroughput == nil:
		return invalid("One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when " +
			"BillingMode is PROVISIONED")
	}
	return nil
}

func checkName(name, what string) error {
	ok := len(name) >= 3 && len(name) <= 255
	for _, c := range []byte(name) {
		ok = ok && (isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.')
	}
	if !ok {
		return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length greater than or equal to 3 "+
			"and at most 255, of letters, digits, '_', '-' and '.'", name, what)
	}
	return nil
}

func checkSchema(elements []keyElement, defined, used map[string]bool) error {
	if len(elements) == 0 || len(elements) > 2 || elements[0].KeyType != "HASH" || len(elements) == 2 && elements[1].KeyType != "RANGE" {
		return invalid("Invalid KeySchema: a key is a HASH attribute, and perhaps a RANGE attribute after it")
	}
	for _, e := range elements {
		if !defined[e.AttributeName] {
			return invalid("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. "+
				"Keys: [%s], AttributeDefinitions: [%s]", e.AttributeName, joined(slices.Sorted(maps.Keys(defined))))
		}
		used[e.AttributeName] = true
	}
	return nil
}

const maxIndexes = 20

func (in *createTable) checkIndexes(defined, used map[string]bool) error {
	names := map[string]bool{}
	for _, g := range in.GlobalSecondaryIndexes {
		if err := checkName(g.IndexName, "globalSecondaryIndexes.member.indexName"); err != nil {
			return err
		}
		if names[g.IndexName] || len(in.GlobalSecondaryIndexes) > maxIndexes {
			return invalid("One or more parameter values were invalid: index names must be unique and at most %d: %s", maxIndexes, g.IndexName)
		}
		names[g.IndexName] = true
		if err := checkSchema(g.KeySchema, defined, used); err != nil {
			return err
		}
		if err := g.Projection.check(); err != nil {
			return err
		}
	}
	return nil
}

func (p projection) check() error {
	if include := p.ProjectionType == "INCLUDE"; include == (len(p.NonKeyAttributes) > 0) &&
		slices.Contains([]string{"ALL", "KEYS_ONLY", "INCLUDE"}, p.ProjectionType) {
		return nil
	}
	return invalid("One or more parameter values were invalid: ProjectionType is %q, and NonKeyAttributes has %d names; "+
		"only INCLUDE has some", p.ProjectionType, len(p.NonKeyAttributes))
}

const account = "000000000000"

func (t *table) arn() string {
	return "arn:aws:dynamodb:" + region + ":" + account + ":table/" + t.name
}

func (t *table) describe(status string) map[string]any {
	n, size := t.rows.totals()
	out := map[string]any{
		"TableName": t.name, "TableArn": t.arn(), "TableStatus": status, "CreationDateTime": t.since, "KeySchema": t.made.KeySchema,
		"AttributeDefinitions": t.made.AttributeDefinitions, "ItemCount": n, "TableSizeBytes": size,
		"DeletionProtectionEnabled": t.made.DeletionProtectionEnabled, "ProvisionedThroughput": throughput(t.made.ProvisionedThroughput),
		"BillingModeSummary": map[string]any{"BillingMode": cmp.Or(t.made.BillingMode, "PROVISIONED")},
	}
	var indexes []map[string]any
	for i, x := range t.indexes {
		n, size := x.rows.totals()
		g := t.made.GlobalSecondaryIndexes[i]
		indexes = append(indexes, map[string]any{"IndexName": x.name, "IndexStatus": "ACTIVE", "IndexArn": t.arn() + "/index/" + x.name,
			"KeySchema": g.KeySchema, "Projection": g.Projection, "ItemCount": n, "IndexSizeBytes": size, "ProvisionedThroughput": throughput(g.ProvisionedThroughput)})
	}
	if indexes != nil {
		out["GlobalSecondaryIndexes"] = indexes
	}
	return out
}

func throughput(given map[string]int) map[string]int {
	return map[string]int{"ReadCapacityUnits": given["ReadCapacityUnits"], "WriteCapacityUnits": given["WriteCapacityUnits"],
		"NumberOfDecreasesToday": 0}
}

func (s *shelf) totals() (n, size int) {
	for _, rows := range s.partitions {
		for _, r := range rows {
			n++
			size += r.item.size()
		}
	}
	return n, size
}

func (d *Double) table(name string) (*table, error) {
	t := d.tables[name]
	switch {
	case name == "":
		return nil, invalid("The parameter 'TableName' is required but was not present in the request")
	case t == nil:
		return nil, refuse("ResourceNotFoundException", "Requested resource not found")
	}
	return t, nil
}

func (d *Double) describeTable(c *call, in *tableName) (any, error) {
	t := d.tables[in.TableName]
	if t == nil {
		return nil, refuse("ResourceNotFoundException", "Requested resource not found: Table: %s not found", in.TableName)
	}
	return map[string]any{"Table": t.describe("ACTIVE")}, nil
}

func (d *Double) deleteTable(c *call, in *tableName) (any, error) {
	t, err := d.table(in.TableName)
	if err != nil {
		return nil, err
	}
	if t.made.DeletionProtectionEnabled {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	delete(d.tables, in.TableName)
	return map[string]any{"TableDescription": t.describe("DELETING")}, nil
}

type listTables struct {
	ExclusiveStartTableName string
	Limit                   *int
}

func (d *Double) listTables(c *call, in *listTables) (any, error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(d.tables)), func(name string) bool { return name <= in.ExclusiveStartTableName })
	limit := 100
	if in.Limit != nil {
		limit = *in.Limit
	}
	if limit < 1 || limit > 100 {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: between 1 and 100", limit)
	}
	if len(names) <= limit {
		return map[string]any{"TableNames": append([]string{}, names...)}, nil
	}
	return map[string]any{"TableNames": names[:limit], "LastEvaluatedTableName": names[limit-1]}, nil
}
