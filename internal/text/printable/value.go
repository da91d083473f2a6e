package printable

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Type is what kind of value a [Row] shows.
type Type string

const (
	TypeText    Type = "text"
	TypeNumber  Type = "number"
	TypeBoolean Type = "boolean"
	TypeNothing Type = "null"
	TypeEmpty   Type = "empty" // text, list or object; Words says which
	TypeRaw     Type = "json"  // JSON that is not taken apart
)

// Step is one step to a value: the name of a member, or the place in a list, from 1 on.
type Step struct {
	Name  Spelled
	Place int // 0: it is a name
}

// Row is one value of some JSON, with the way to it. The rows of a value are all of it, in its
// order.
type Row struct {
	Path     []Step
	Pointer  string // the path as a JSON Pointer (RFC 6901)
	Type     Type
	Value    Spelled // text, a number's digits, or JSON
	Words    string  // instead of Value, if there is nothing foreign to show: Yes, empty text
	Notes    []string
	Warnings []Warning // of the value and of the names that lead to it
}

// Found is a warning with the value it is about. Path is the JSON Pointer of the value, or of a
// list or object around it.
type Found struct{ Path, Code, Text string }

const (
	// deepest is how many steps lead to a value. What is deeper is shown as JSON.
	deepest = 32
	// pathShare bounds what the paths of all rows take, as a multiple of the JSON: long names
	// above many values would be written for each.
	pathShare = 8
	pathFloor = 64 << 10
)

// Rows takes JSON apart. Text that is not JSON, and JSON that is nested too deeply, is one row.
func Rows(raw []byte) []Row {
	if !json.Valid(raw) {
		return []Row{rawRow(nil, "", string(raw), "Is not JSON. It is shown as it is.")}
	}
	w := walker{text: string(raw), room: pathShare*len(raw) + pathFloor}
	w.value(nil, "", nil)
	if w.room < 0 {
		return []Row{rawRow(nil, "", JSON(string(raw)), "Has too many nested names to be shown value by value. This is its JSON.")}
	}
	return w.rows
}

// Harmless reports whether JSON has nothing to warn of, so that it can be shown in its plain form.
func Harmless(raw []byte) bool { return len(Warnings(raw, 1)) == 0 }

// Warnings returns the warnings of all rows, at most the given number.
func Warnings(raw []byte, most int) (found []Found) {
	for _, row := range Rows(raw) {
		for _, warning := range row.Warnings {
			if len(found) == most {
				return found
			}
			found = append(found, Found{bounded(row.Pointer), warning.Code, warning.Text})
		}
	}
	return found
}

// longestPointer bounds the path of a warning, which would carry every name above its value.
const longestPointer = 1000

// bounded is a pointer, or that of the list or object around it that is short enough.
func bounded(pointer string) string {
	for len(pointer) > longestPointer {
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
	return pointer
}

func rawRow(path []Step, pointer, text, why string) Row {
	s := Spell(text)
	return Row{Path: path, Pointer: pointer, Type: TypeRaw, Value: s, Warnings: append(s.Warnings, Warning{"not_taken_apart", why})}
}

// walker goes through JSON that is known to be valid.
type walker struct {
	text string
	at   int
	rows []Row
	room int // for paths
}

// value reads one value. of are the warnings of the names that lead to it.
func (w *walker) value(path []Step, pointer string, of []Warning) {
	w.blanks()
	row := Row{Path: path, Pointer: pointer}
	switch c := w.text[w.at]; {
	case (c == '{' || c == '[') && len(path) >= deepest:
		row = rawRow(path, pointer, JSON(w.skip()), "Is nested too deeply to be shown value by value. This is its JSON.")
	case c == '{':
		w.members(path, pointer, of)
		return
	case c == '[':
		w.items(path, pointer, of)
		return
	case c == '"':
		row.text(unescaped(w.quoted()))
	case c == 't' || c == 'f':
		row.Type, row.Words = TypeBoolean, map[string]string{"true": "Yes (true)", "false": "No (false)"}[w.bare()]
	case c == 'n':
		row.Type, row.Words = TypeNothing, "nothing ("+w.bare()+")"
	default:
		digits := w.bare()
		row.Type, row.Value = TypeNumber, Spell(digits)
		row.Notes, row.Warnings = numberNotes(digits)
	}
	w.add(row, of)
}

func (w *walker) add(row Row, of []Warning) {
	row.Warnings = append(of[:len(of):len(of)], row.Warnings...)
	w.rows = append(w.rows, row)
	w.room -= len(row.Pointer)
}

// longText is the number of characters beyond which a note says how long a text is.
const longText = 300

func (r *Row) text(text string) {
	if text == "" {
		r.Type, r.Words = TypeEmpty, "empty text"
		return
	}
	r.Type, r.Value, r.Notes = TypeText, Spell(text), textNotes(text)
	identify(text, &r.Value)
	r.Warnings = r.Value.Warnings
	if n := r.Value.Len(); n > longText {
		r.Notes = append(r.Notes, "text of "+strconv.Itoa(n)+" characters")
	}
}

func (w *walker) members(path []Step, pointer string, of []Warning) {
	names := map[string]string{} // by what they read like
	for w.at++; w.room >= 0 && w.more('}'); {
		name := unescaped(w.quoted())
		w.blanks()
		w.at++ // the colon
		step := Step{Name: Spell(name)}
		about := append(of[:len(of):len(of)], step.Name.Warnings...)
		look := skeleton(name)
		if other, known := names[look]; known && other == name {
			about = append(about, Warning{"same_name", "This name occurs twice."})
		} else if known {
			about = append(about, Warning{"similar_name", "This name looks like another one beside it."})
		}
		names[look] = name
		w.value(append(path[:len(path):len(path)], step), pointer+"/"+pointerOf(name), about)
	}
	if len(names) == 0 {
		w.add(Row{Path: path, Pointer: pointer, Type: TypeEmpty, Words: "nothing in it (empty object)"}, of)
	}
}

func (w *walker) items(path []Step, pointer string, of []Warning) {
	n := 0
	for w.at++; w.room >= 0 && w.more(']'); {
		n++
		w.value(append(path[:len(path):len(path)], Step{Place: n}), pointer+"/"+strconv.Itoa(n-1), of)
	}
	if n == 0 {
		w.add(Row{Path: path, Pointer: pointer, Type: TypeEmpty, Words: "nothing in it (empty list)"}, of)
	}
}

// more goes to the next member or item; if there is none, it goes behind what they are in.
func (w *walker) more(end byte) bool {
	if w.blanks(); w.text[w.at] == ',' {
		w.at++
		w.blanks()
	}
	if w.text[w.at] != end {
		return true
	}
	w.at++
	return false
}

func (w *walker) blanks() {
	for w.at < len(w.text) && strings.IndexByte(" \t\r\n", w.text[w.at]) >= 0 {
		w.at++
	}
}

// quoted goes behind a string, and returns its inside.
func (w *walker) quoted() string {
	w.blanks()
	begin := w.at + 1
	end := begin + closing(w.text[begin:])
	w.at = end + 1
	return w.text[begin:end]
}

func (w *walker) bare() string {
	begin := w.at
	for w.at < len(w.text) && strings.IndexByte(",]} \t\r\n", w.text[w.at]) < 0 {
		w.at++
	}
	return w.text[begin:w.at]
}

// skip goes behind a list or an object, and returns it.
func (w *walker) skip() string {
	begin, depth := w.at, 0
	for {
		switch w.text[w.at] {
		case '"':
			w.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if w.at++; depth == 0 {
			return w.text[begin:w.at]
		}
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointerOf is a name as a step of a JSON Pointer.
func pointerOf(name string) string {
	return pointerEscapes.Replace(strings.ToValidUTF8(name, "\ufffd"))
}
