package rehearsal

import (
	_ "embed"
	"slices"
)

//go:embed test.schema.json
var schema []byte

// Schema is the JSON Schema, draft-07, of a file of tests.
func Schema() []byte { return slices.Clone(schema) }
