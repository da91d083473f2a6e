package tool

import (
	"context"
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine/pad"
)

// Raw makes a tool from a body that decodes its own arguments. Results and errors are treated as by
// [Func].
func Raw(spec core.ToolSpec, body func(ctx context.Context, call Call) (any, error)) Function {
	return Function{spec: spec, body: body}
}

// SchemaOf derives the schema of a tool's arguments from A. Like [Func], it panics if that is
// impossible.
func SchemaOf[A any](name string) json.RawMessage { return schemaOf[A](name) }

// Decode decodes arguments as [Func] does. The model may see the error.
func Decode[A any](arguments json.RawMessage) (A, error) { return decode[A](arguments) }

// Keys are the keys of one scope of a state; see [pad.Pad].
type Keys struct {
	Pad   *pad.Pad
	Scope core.Scope
}

func (k Keys) Get(key string) json.RawMessage  { return k.Pad.Get(k.Scope, key) }
func (k Keys) Set(key string, value any) error { return k.Pad.Set(k.Scope, key, value) }
func (k Keys) Delete(key string)               { k.Pad.Delete(k.Scope, key) }
func (k Keys) Add(key string, n int64)         { k.Pad.Add(k.Scope, key, n) }
func (k Keys) Insert(key string, text string)  { k.Pad.Insert(k.Scope, key, text) }
