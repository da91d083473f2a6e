package printable

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Type is the type of the value in a [Row].
type Type string

const (
	TypeText    Type = "text"
	TypeNumber  Type = "number"
	TypeBoolean Type = "boolean"
	TypeNothing Type = "null"
	TypeEmpty   Type = "empty" // text, list or object; Words says which
	TypeRaw     Type = "json"  // JSON that is shown whole
)

// Step is one step on the path to a value: a member's name, or a position in a list, counted from
// 1.
type Step struct {
	Name  Spelled
	Place int // 0 if Name is set
}

// Row is one value of a JSON text, with its path. All rows together show the whole text, in its
// order.
type Row struct {
	Path     []Step
	Pointer  string // the path as a JSON Pointer (RFC 6901)
	Type     Type
	Value    Spelled // text, a number's digits, or JSON
	Words    string  // shown in place of Value if nothing in it is untrusted: Yes, empty text
	Notes    []string
	Warnings []Warning // of the value and of the names on its path
}

// Found is a warning and the JSON Pointer of its value. If that pointer is too long, Path is the
// pointer of an enclosing list or object.
type Found struct{ Path, Code, Text string }

const (
	// deepest is the longest path to a row. Values nested more deeply are shown as JSON.
	deepest = 32
	// pathShare bounds the total length of the paths of all rows, as a multiple of the JSON's
	// length: each row repeats the names above its value, so long names would multiply.
	pathShare = 8
	pathFloor = 64 << 10
)

// Rows splits JSON into its values. Invalid JSON is one row, and so is JSON whose paths would take
// too much space.
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

// Harmless reports whether JSON has no warnings, so that it can be shown in its plain form.
func Harmless(raw []byte) bool { return len(Warnings(raw, 1)) == 0 }

// Warnings returns the warnings of all rows, up to the given number.
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

// longestPointer bounds the path of a warning, because it repeats every name above its value.
const longestPointer = 1000

// bounded returns the pointer if it is short enough, or that of the closest enclosing list or
// object whose pointer is.
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

// walker reads valid JSON and collects its rows.
type walker struct {
	text string
	at   int
	rows []Row
	room int // left for paths
}

// value reads one value. of holds the warnings of the names on its path.
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

// longText is the number of characters above which a note gives the length of a text.
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
	names := map[string]string{} // by skeleton
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

// more moves to the next member or item and reports whether there is one; if not, it moves past the
// end of the object or list.
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

// quoted moves past a string and returns the text between its quotes.
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

// skip moves past a list or object and returns it.
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

// pointerOf escapes a name as a step of a JSON Pointer.
func pointerOf(name string) string {
	return pointerEscapes.Replace(strings.ToValidUTF8(name, "\ufffd"))
}
