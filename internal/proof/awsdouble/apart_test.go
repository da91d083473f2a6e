package awsdouble_test

// apart are the requests that the double and dynoxide 3.2.0 answer differently, each with why the
// double does what it does. Where it is a matter of strictness the double refuses more: what passes
// here should pass everywhere.
var apart = map[string]string{
	`conditions: attribute_type(m, :t) | ":t":{"S":"X"}`: "DynamoDB refuses a name that is no type",
	`conditions: attribute_type(m, :t) | ":t":{"N":"1"}`: "DynamoDB wants the name of the type as a string",
	`conditions: n = n`:                                  "DynamoDB refuses an operand that is compared with itself",
	`conditions: n > n`:                                  "DynamoDB refuses an operand that is compared with itself",
	`conditions: yes < :t | ":t":{"BOOL":true}`:          "DynamoDB refuses to order what has no order",
	`conditions: m > :m | ":m":{"M":{}}`:                 "DynamoDB refuses to order what has no order",
	`conditions: n = :v | ":v":{"N":"5"},":w":{"N":"5"}`: "DynamoDB refuses values that no expression uses",
	`conditions: Attribute_Exists(pk)`:                   "names of functions are in small letters",
	`conditions: _n = :v | ":v":{"N":"5"}`:               "a name without an alias begins with a letter, by the developer guide",
	`updates: SET x = (:v) | ":v":{"N":"1"}`:             "the double does not know parentheses there",
	`projections: updated new`:                           "servers do not agree on what UPDATED_NEW shows of a list",
	`projections: updated old`:                           "servers do not agree on what UPDATED_OLD shows of a list",
	`the index: what is not in it`:                       "DynamoDB refuses to project what a global index does not hold",
	`pages: first`:                                       "a page ends with the item that passes the megabyte, as dynalite has it too",
	`pages: scan`:                                        "a page ends with the item that passes the megabyte, as dynalite has it too",
	`nesting: an unknown type`:                           "the double tells what it does not know from what DynamoDB refuses",
	`transactions: unused`:                               "DynamoDB refuses names that no expression uses",
	`transactions: read`:                                 "a projection shows what it names, without the keys",
	`tables: no billing`:                                 "DynamoDB wants throughput unless billing is by request",
}
