package linkpage

import (
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/text/printable"
)

// markup is a part of a page. What this package writes itself goes in as a tag, which only a
// constant becomes without a conversion; text of others goes in by foreign, and by nothing
// else.
type markup struct{ strings.Builder }

// tag is HTML and words of this package.
type tag string

func (m *markup) add(tags ...tag) {
	for _, t := range tags {
		m.WriteString(string(t))
	}
}

// count writes a number of ours.
func (m *markup) count(n int) { m.WriteString(strconv.Itoa(n)) }

// words writes a sentence that is not a constant: a time, or a text of package printable, which
// contains ASCII only.
func (m *markup) words(text string) { m.escaped(text) }

// escaped is the one place where text becomes HTML.
func (m *markup) escaped(text string) { m.WriteString(html.EscapeString(text)) }

// foreign writes text of others. Use it only in an element that contains nothing else: a separate
// paragraph, or one that isolates its text.
func (m *markup) foreign(s printable.Spelled) {
	if s.Lines() == 1 {
		m.parts(s.Parts)
		return
	}
	for line := range linesOf(s.Parts) {
		m.add(`<span class="line" dir="auto">`)
		m.parts(line)
		m.add(`</span>`)
	}
}

// linesOf are the parts of each line, with the break that ends it.
func linesOf(parts []printable.Part) func(func([]printable.Part) bool) {
	return func(yield func([]printable.Part) bool) {
		for len(parts) > 0 {
			end := slices.IndexFunc(parts, func(p printable.Part) bool { return p.Kind == printable.Break }) + 1
			if end == 0 {
				end = len(parts)
			}
			if !yield(parts[:end]) {
				return
			}
			parts = parts[end:]
		}
	}
}

func (m *markup) parts(parts []printable.Part) {
	for _, p := range parts {
		switch p.Kind {
		case printable.Chip, printable.Break:
			m.add(`<span class="chip">`)
			m.escaped(p.Label)
			m.add(`</span>`)
		case printable.Letter:
			m.add(`<span class="odd"><bdi>`)
			m.escaped(p.Text)
			m.add(`</bdi><small>`)
			m.escaped(p.Label)
			m.add(`</small></span>`)
		case printable.Host:
			m.add(`<b class="host">`)
			m.escaped(p.Text)
			m.add(`</b>`)
		default:
			m.escaped(p.Text)
		}
	}
}

// order writes the pieces of a text that is not read in its stored order, from left to right in
// that order.
func (m *markup) order(of tag, s printable.Spelled) {
	if s.Order == nil {
		return
	}
	m.add(`<dd><p class="note">`, of, ` in the order in which the tool gets it:</p><ol class="order">`)
	for i, piece := range s.Order {
		m.add(`<li><span class="number">`)
		m.count(i + 1)
		m.add(`</span><bdi dir="auto">`)
		m.parts(piece)
		m.add(`</bdi></li>`)
	}
	m.add(`</ol></dd>`)
}

// framed writes text of others that is not an argument: in the zone, in a separate row, with its
// warnings.
func (m *markup) framed(label tag, text string) {
	s := printable.Spell(text)
	m.add(`<div class="zone"><dl><div class="row wide"><dt>`, label, `</dt><dd class="value" dir="auto">`)
	m.foreign(s)
	m.add(`</dd>`)
	m.warnings(s.Warnings)
	m.order(`The text`, s)
	m.add(`</div></dl></div>`)
}

// named writes a name of others within a sentence of ours.
func (m *markup) named(text string) {
	m.add(`<bdi>`)
	m.parts(printable.Spell(text).Parts)
	m.add(`</bdi>`)
}

// title writes the question of a tool's author. Each value is isolated and set off, so that it
// cannot pass for the author's words.
func (m *markup) title(parts []wire.TitlePart) {
	for _, p := range parts {
		if p.Argument == "" {
			// not spelled: a blank at its end is within the title
			m.escaped(printable.Text(p.Text))
			continue
		}
		m.add(`<bdi class="given">`)
		m.parts(printable.Spell(p.Text).Parts)
		m.add(`</bdi>`)
	}
}

func (m *markup) warnings(all []printable.Warning) {
	var said []string
	for _, w := range all {
		if !slices.Contains(said, w.Text) {
			said = append(said, w.Text)
			m.add(`<dd class="warn">`)
			m.words(w.Text)
			m.add(`</dd>`)
		}
	}
}
