package sim_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/strict"
)

// apiDocument is the OpenAPI document that the server publishes. It is read as a file: an adapter
// doesn't import another one.
const apiDocument = "../../api/httpapi/openapi.json"

// shapes are the schemas of the API document that events are held against: one of an object whose
// members are an event without its data, and the data of each type, under the type's name.
type shapes struct {
	schema *jsonschema.Resolved
	types  map[string]bool // all that are documented; false: without data

	mu   sync.Mutex
	held map[string]error // by form: what became of the first text that has it
}

const wholeEvent = "an event" // without its data

var eventShapes = sync.OnceValues(readShapes)

func readShapes() (*shapes, error) {
	raw, err := os.ReadFile(apiDocument)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Components struct {
			Schemas map[string]*jsonschema.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte(`"#/components/schemas/`), []byte(`"#/$defs/`)), &doc); err != nil {
		return nil, err
	}
	event := doc.Components.Schemas["Event"]
	s := &shapes{types: map[string]bool{}, held: map[string]error{}}
	all := &jsonschema.Schema{Defs: doc.Components.Schemas, Properties: map[string]*jsonschema.Schema{}}
	for _, one := range event.OneOf {
		kind := fmt.Sprint(*one.Properties["type"].Const)
		data, has := one.Properties["data"]
		if s.types[kind] = has; has {
			all.Properties[kind] = data
		}
	}
	event.OneOf = nil
	all.Properties[wholeEvent] = &jsonschema.Schema{Ref: "#/$defs/Event"}
	s.schema, err = all.Resolve(nil)
	return s, err
}

func (s *shapes) validate(what string, raw json.RawMessage) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	return s.schema.Validate(map[string]any{what: value})
}

// check says why an event is not what the document and the Go types say of its type.
func (s *shapes) check(e wire.Event) error {
	if e.Cursor == "" {
		return errors.New("it has no cursor")
	}
	data := e.Data
	e.Data, e.Cursor = nil, "a cursor"
	if err := s.once(wholeEvent, core.Encode(e), s.checkWhole); err != nil {
		return err
	}
	return s.once(e.Type, data, func(data json.RawMessage) error { return s.checkData(e.Type, data) })
}

// once checks the first text of each form.
func (s *shapes) once(what string, text json.RawMessage, check func(json.RawMessage) error) error {
	form := what + formOf(text)
	s.mu.Lock()
	err, known := s.held[form]
	s.mu.Unlock()
	if known {
		return err
	}
	err = check(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[form] = err
	return err
}

// formOf is a JSON text without what makes it differ from others of the same shape. Numbers are 0
// or 1. Of a string with a space, which is said by a person, a model or a tool, only that is left;
// in others every digit is 0, and a long run of letters and digits, as in ids and digests, is a
// star. No schema tells more of them apart.
func formOf(text []byte) string {
	form := make([]byte, 0, len(text))
	number := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		digit := c >= '0' && c <= '9'
		switch {
		case c == '"':
			end := i + 1
			for ; text[end] != '"'; end++ {
				if text[end] == '\\' {
					end++
				}
			}
			form = append(appendForm(append(form, '"'), text[i+1:end]), '"')
			i = end
		case digit && number:
		case digit:
			form = append(form, min(c, '1'))
		default:
			form = append(form, c)
		}
		number = digit
	}
	return string(form)
}

func appendForm(form, text []byte) []byte {
	if bytes.IndexByte(text, ' ') >= 0 {
		return append(form, ' ')
	}
	const long = 16 // no word of a closed list has so many letters in a row
	run := 0
	for _, c := range text {
		digit := c >= '0' && c <= '9'
		if digit {
			c = '0'
		}
		if run++; !digit && (c < 'a' || c > 'z') {
			run = 0
		}
		switch {
		case run < long:
			form = append(form, c)
		case run == long:
			form = append(form[:len(form)-long+1], '*')
		}
	}
	return form
}

func (s *shapes) checkWhole(raw json.RawMessage) error {
	if err := strictly(raw, new(wire.Event)); err != nil {
		return fmt.Errorf("as an event: %w", err)
	}
	return s.validate(wholeEvent, raw)
}

func (s *shapes) checkData(kind string, raw json.RawMessage) error {
	has, documented := s.types[kind]
	make, known := wire.EventData[kind]
	switch {
	case !documented || !known || has != (make != nil) || has != (raw != nil):
		return fmt.Errorf("documented: %v, in wire.EventData: %v, with data: %v, %v, and really %v", documented, known, has, make != nil, raw != nil)
	case !has:
		return nil
	}
	if err := strictly(raw, make()); err != nil {
		return fmt.Errorf("as wire.EventData: %w", err)
	}
	return s.validate(kind, raw)
}

// strictly decodes a text into a value that has a member for each of the text's, and makes the same
// text again.
func strictly(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if was, is := canonical(raw), canonical(core.Encode(into)); was != is {
		return fmt.Errorf("%s is decoded to %s", was, is)
	}
	return nil
}

// canonical is a JSON text with its members in order.
func canonical(raw json.RawMessage) string {
	text, err := strict.Arguments(raw)
	if err != nil {
		return string(raw)
	}
	return string(text)
}
