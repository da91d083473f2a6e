package awsdouble

import "slices"

const (
	maxItem     = 400 << 10
	maxHashKey  = 2048
	maxSortKey  = 1024
	maxNesting  = 32 // the item itself is the first
	maxPage     = 1 << 20
	maxActions  = 100
	maxTransact = 4 << 20
)

// checkKey is for a key that a caller gives: exactly the key attributes, of the right types.
func (t *table) checkKey(key item) error {
	if len(key) != len(t.keys.names()) || !t.keys.complete(key) {
		return invalid("The provided key element does not match the schema")
	}
	for _, name := range t.keys.names() {
		if key[name].kind != t.types[name] {
			return invalid("The provided key element does not match the schema")
		}
	}
	return t.checkKeyValues(key)
}

func (t *table) checkKeyValues(it item) error {
	for i, name := range t.keys.names() {
		v := it[name]
		switch size := v.size(); {
		case size == 0 && v.kind != "N":
			return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s",
				longKind(v.kind), name)
		case i == 0 && size > maxHashKey:
			return invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes")
		case i == 1 && size > maxSortKey:
			return invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes")
		}
	}
	return nil
}

func longKind(kind string) string {
	if kind == "B" {
		return "binary"
	}
	return "string"
}

// checkItem is for a whole item that somebody puts.
func (t *table) checkItem(it item) error {
	for _, name := range t.keys.names() {
		v, ok := it[name]
		if !ok {
			return invalid("One or more parameter values were invalid: Missing the key %s in the item", name)
		}
		if v.kind != t.types[name] {
			return invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", name, t.types[name], v.kind)
		}
	}
	if err := t.checkKeyValues(it); err != nil {
		return err
	}
	if err := t.checkIndexKeys(it); err != nil {
		return err
	}
	return checkSize(it, "Item size has exceeded the maximum allowed size")
}

func checkSize(it item, message string) error {
	if it.size() > maxItem {
		return invalid("%s", message)
	}
	return checkDepth(it)
}

func checkDepth(it item) error {
	if (value{kind: "M", fields: it}).depth() > maxNesting {
		return invalid("Nesting Levels have exceeded supported limits")
	}
	return nil
}

func (t *table) checkIndexKeys(it item) error {
	for _, x := range t.indexes {
		for _, name := range x.keys.names() {
			v, ok := it[name]
			switch {
			case !ok || slices.Contains(t.keys.names(), name):
			case v.kind != t.types[name]:
				return invalid("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
					name, t.types[name], v.kind, x.name)
			case v.size() == 0:
				return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
					"The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", longKind(v.kind), x.name, name)
			}
		}
	}
	return nil
}

// checkUpdated is for the item that an update made.
func (t *table) checkUpdated(it item) error {
	if err := t.checkIndexKeys(it); err != nil {
		return err
	}
	return checkSize(it, "Item size to update has exceeded the maximum allowed size")
}

func (t *table) checkActions(actions []action) error {
	for _, a := range actions {
		if slices.Contains(t.keys.names(), a.target[0].name) {
			return invalid("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", a.target[0].name)
		}
	}
	return nil
}
