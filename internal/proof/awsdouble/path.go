package awsdouble

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// path is where in an item a value stands: a.b[0].c.
type path []pathStep

type pathStep struct {
	name  string // of a map's field
	index int    // of a list's member, if name is empty
}

const maxPath = 32

func (s pathStep) String() string {
	if s.name == "" {
		return fmt.Sprintf("[%d]", s.index)
	}
	return s.name
}

func (p path) String() string {
	names := make([]string, len(p))
	for i, s := range p {
		names[i] = s.String()
	}
	return "[" + joined(names) + "]"
}

func (p path) inList() bool {
	return slices.ContainsFunc(p, func(s pathStep) bool { return s.name == "" })
}

// parsePath reads a document path. A plain word must not be reserved; what stands behind an alias
// may be anything.
func (p *parser) parsePath() path {
	at := path{{name: p.pathName()}}
	for {
		switch p.peek() {
		case ".":
			p.next()
			at = append(at, pathStep{name: p.pathName()})
		case "[":
			p.next()
			n, err := strconv.Atoi(p.peek())
			if err != nil {
				p.syntax(p.peek())
			}
			p.next()
			p.expect("]")
			at = append(at, pathStep{index: n})
		default:
			if len(at) > maxPath {
				p.fail("The document path has too many nesting elements; nesting levels: %d", len(at))
			}
			return at
		}
	}
}

func (p *parser) pathName() string {
	word := p.peek()
	switch {
	case word == "":
		p.syntax(word)
	case word[0] == '#':
		name, ok := p.names.names[word]
		if !ok {
			p.fail("An expression attribute name used in the document path is not defined; attribute name: %s", word)
		}
		p.names.usedNames[word] = true
		p.next()
		return name
	case !isLetter(word[0]):
		p.syntax(word)
	case reserved[strings.ToUpper(word)]:
		p.fail("Attribute name is a reserved keyword; reserved keyword: %s", word)
	}
	p.next()
	return word
}

func (p *parser) parseValue() *value {
	word := p.next()
	v, ok := p.names.values[word]
	if !ok {
		p.fail("An expression attribute value used in expression is not defined; attribute value: %s", word)
	}
	p.names.usedValues[word] = true
	return &v
}

func (it item) get(at path) (value, bool) {
	v, ok := value{kind: "M", fields: it}, true
	for _, s := range at {
		if v, ok = v.step(s); !ok {
			return value{}, false
		}
	}
	return v, true
}

func (v value) step(s pathStep) (value, bool) {
	if s.name != "" {
		got, ok := v.fields[s.name]
		return got, ok && v.kind == "M"
	}
	if v.kind != "L" || s.index >= len(v.list) {
		return value{}, false
	}
	return v.list[s.index], true
}

// with returns v with what stands at the path replaced, or removed if new is nil. Everything above
// the last step must be there.
func (v value) with(at path, put *value) (value, error) {
	if len(at) > 1 {
		below, ok := v.step(at[0])
		if !ok {
			return v, badPath()
		}
		changed, err := below.with(at[1:], put)
		if err != nil {
			return v, err
		}
		return v.with(at[:1], &changed)
	}
	if at[0].name != "" {
		return v.withField(at[0].name, put)
	}
	return v.withMember(at[0].index, put)
}

func badPath() *apiError {
	return invalid("The document path provided in the update expression is invalid for update")
}

func (v value) withField(name string, put *value) (value, error) {
	if v.kind != "M" {
		return v, badPath()
	}
	v.fields = maps.Clone(v.fields)
	switch {
	case put == nil:
		delete(v.fields, name)
	case v.fields == nil:
		v.fields = map[string]value{name: *put}
	default:
		v.fields[name] = *put
	}
	return v, nil
}

// withMember puts what lies beyond the end of a list at its end.
func (v value) withMember(n int, put *value) (value, error) {
	if v.kind != "L" {
		return v, badPath()
	}
	v.list = slices.Clone(v.list)
	switch {
	case put == nil && n < len(v.list):
		v.list = slices.Delete(v.list, n, n+1)
	case put == nil:
	case n < len(v.list):
		v.list[n] = *put
	default:
		v.list = append(v.list, *put)
	}
	return v, nil
}

// overlapping finds two paths of which one stands on the other, or that want one place to be a map
// and a list.
func overlapping(paths []path) (a, b path, problem string) {
	for i, a := range paths {
		for _, b := range paths[:i] {
			n := min(len(a), len(b))
			same := 0
			for same < n && a[same] == b[same] {
				same++
			}
			switch {
			case same == n:
				return b, a, "overlap"
			case same > 0 && (a[same].name == "") != (b[same].name == ""):
				return b, a, "conflict"
			}
		}
	}
	return nil, nil, ""
}

// project keeps what stands at the paths. Members of a list keep their order and close ranks.
func (it item) project(paths []path) item {
	v, _ := value{kind: "M", fields: it}.project(paths)
	return v.fields
}

func (v value) project(paths []path) (value, bool) {
	below := map[pathStep][]path{}
	for _, at := range paths {
		if len(at) == 0 {
			return v, true
		}
		below[at[0]] = append(below[at[0]], at[1:])
	}
	steps := slices.SortedFunc(maps.Keys(below), func(a, b pathStep) int { return a.index - b.index })
	out := value{kind: v.kind}
	for _, s := range steps {
		child, ok := v.step(s)
		if ok {
			child, ok = child.project(below[s])
		}
		switch {
		case !ok:
		case v.kind == "L":
			out.list = append(out.list, child)
		case out.fields == nil:
			out.fields = map[string]value{s.name: child}
		default:
			out.fields[s.name] = child
		}
	}
	return out, out.list != nil || out.fields != nil
}

// parseProjection reads a ProjectionExpression.
func (p *placeholders) parseProjection(text *string) ([]path, error) {
	if text == nil {
		return nil, nil
	}
	q := p.parser("ProjectionExpression", *text)
	paths := []path{q.parsePath()}
	for q.peek() == "," {
		q.next()
		paths = append(paths, q.parsePath())
	}
	if err := q.end(); err != nil {
		return nil, err
	}
	if a, b, problem := overlapping(paths); problem != "" {
		return nil, twoPaths("ProjectionExpression", a, b, problem)
	}
	return paths, nil
}

func twoPaths(name string, a, b path, problem string) *apiError {
	return invalid("Invalid %s: Two document paths %s with each other; must remove or rewrite one of these paths; path one: %s, path two: %s",
		name, problem, a, b)
}
