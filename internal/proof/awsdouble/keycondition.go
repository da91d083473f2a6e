package awsdouble

import "slices"

// keyRange is what a KeyConditionExpression asks for: one partition, and perhaps a condition on its
// sort key.
type keyRange struct {
	hash value
	sort *condition
}

// parseKeyCondition reads it. A condition that is not one on the hash key and at most one on the
// sort key is refused, as no index could answer it.
func (p *placeholders) parseKeyCondition(text string, keys keySchema, types map[string]string) (k keyRange, err error) {
	c, err := p.parseCondition("KeyConditionExpression", &text)
	if err != nil {
		return k, err
	}
	parts := []condition{*c}
	if c.op == "AND" {
		parts = c.of
	}
	found := false
	for _, part := range parts {
		name, err := part.keyName()
		switch {
		case err != nil:
			return k, err
		case name == keys.hash && found, name == keys.sort && k.sort != nil:
			return k, invalid("KeyConditionExpressions must only contain one condition per key")
		case name == keys.hash && part.op == "=":
			k.hash, found = *part.operands[1].literal, true
		case name == keys.hash:
			return k, invalid("Query key condition not supported")
		case name == keys.sort:
			k.sort = &part
		default:
			return k, missed(keys)
		}
		if err := part.checkKinds(types[name]); err != nil {
			return k, err
		}
	}
	if !found {
		return k, missed(keys)
	}
	return k, nil
}

func missed(keys keySchema) *apiError {
	return invalid("Query condition missed key schema element: %s", keys.hash)
}

var keyOperators = []string{"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"}

// keyName is the key attribute that a part of the condition is about.
func (c condition) keyName() (string, error) {
	if !slices.Contains(keyOperators, c.op) {
		return "", invalid("Invalid operator used in KeyConditionExpression: %s", c.op)
	}
	if p := c.operands[0].path; len(p) != 1 || c.operands[0].size {
		return "", invalid("Invalid condition in KeyConditionExpression: the first operand must be a key attribute")
	}
	for _, o := range c.operands[1:] {
		if o.literal == nil || o.size {
			return "", invalid("Invalid condition in KeyConditionExpression: No key attribute specified, or compared with something that is no value")
		}
	}
	return c.operands[0].path[0].name, nil
}

func (c condition) checkKinds(kind string) error {
	for _, o := range c.operands[1:] {
		switch {
		case o.literal.kind != kind:
			return invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
		case kind != "N" && o.literal.text == "" && c.op != "begins_with":
			return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s",
				c.operands[0].path[0].name)
		}
	}
	return nil
}
