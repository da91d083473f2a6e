package linkpage

import (
	"strings"

	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

const (
	shortValue  = 60 // characters: a longer one gets a box, so that it cannot pass for rows
	shortNumber = 16
	flatPath    = 2 // names: a deeper value gets the whole width
)

// values writes JSON by value: each in a row of its own, its path before or above it.
func (m *markup) values(raw []byte) {
	m.add(`<div class="zone"><dl class="values">`)
	for _, row := range printable.Rows(raw) {
		m.value(row)
	}
	m.add(`</dl></div>`)
}

func isLong(row printable.Row) bool {
	return row.Value.Lines() > 1 || row.Value.Len() > shortValue || row.Type == printable.TypeRaw
}

func (m *markup) value(row printable.Row) {
	long := isLong(row)
	switch {
	case long, row.Value.Order != nil, len(row.Path) > flatPath, row.Type == printable.TypeNumber && row.Value.Len() > shortNumber:
		m.add(`<div class="row wide">`)
	default:
		m.add(`<div class="row">`)
	}
	m.path(row.Path)
	m.valued(row, long, ``)
	m.nameOrder(row)
	m.add(`</div>`)
}

// valued writes the value of a row, and what is to be said of it.
func (m *markup) valued(row printable.Row, long bool, class tag) {
	switch {
	case row.Words != "":
		m.add(`<dd class="value own`, class, `">`)
		m.words(row.Words)
	case row.Type == printable.TypeNumber:
		m.add(`<dd class="value code`, class, `" dir="ltr">`)
		m.digits(row.Value)
	default:
		m.textValue(row, long, class)
	}
	m.add(`</dd>`)
	for _, note := range row.Notes {
		m.add(`<dd class="note">`)
		m.words(note)
		m.add(`</dd>`)
	}
	m.warnings(row.Warnings)
	m.order(`The value`, row.Value)
}

func (m *markup) nameOrder(row printable.Row) {
	for _, step := range row.Path {
		m.order(`The name`, step.Name)
	}
}

func (m *markup) textValue(row printable.Row, long bool, class tag) {
	m.add(`<dd dir="auto" class="value`, class)
	if long {
		m.add(` box`)
	}
	if identifies(row.Value.String()) {
		m.add(` code`)
	}
	m.add(`">`)
	m.foreign(row.Value)
}

// identifies reports whether a short text has digits, as account and order numbers do. The page
// sets it in a typeface that distinguishes 0 from O.
func identifies(text string) bool {
	return len(text) <= shortValue && strings.ContainsAny(text, "0123456789")
}

// path writes the names that lead to a value.
func (m *markup) path(path []printable.Step) {
	m.add(`<dt>`)
	for i, step := range path {
		switch {
		case step.Place > 0:
			m.add(` <span class="place">no. `)
			m.count(step.Place)
			m.add(`</span>`)
			continue
		case i > 0:
			m.add(`<span class="step">›</span><wbr>`)
		}
		m.add(`<bdi class="name">`)
		if step.Name.Parts == nil {
			m.add(`<span class="chip">no name</span>`)
		}
		m.parts(step.Name.Parts)
		m.add(`</bdi>`)
	}
	if path == nil {
		m.add(`<span class="place">all arguments</span>`)
	}
	m.add(`</dt>`)
}

// digits writes a number as it is in the JSON, the digits before its point in groups of three that
// only a gap shows.
func (m *markup) digits(s printable.Spelled) {
	text := s.String()
	end := strings.IndexAny(text, ".eE")
	if end < 0 {
		end = len(text)
	}
	for end > 4 {
		n := end % 3
		if n == 0 {
			n = 3
		}
		if n == 1 && text[0] == '-' {
			n = 4
		}
		m.add(`<span class="group">`)
		m.words(text[:n])
		m.add(`</span>`)
		text, end = text[n:], end-n
		if end <= 3 {
			break
		}
	}
	m.words(text)
}
