package awsdouble

import (
	"slices"
	"strings"
)

// parser reads one expression. The first error stays, and from then on it sees the end of the text:
// whoever parses need not ask after every word.
type parser struct {
	name   string // ConditionExpression and so on, for errors
	tokens []string
	at     int
	names  *placeholders
	err    *apiError
}

// placeholders are the # names and : values of one request. Each must be used by one of its
// expressions.
type placeholders struct {
	names      map[string]string
	values     map[string]value
	usedNames  map[string]bool
	usedValues map[string]bool
}

const maxExpression = 4096

func newPlaceholders(names map[string]string, values map[string]value) *placeholders {
	return &placeholders{names: names, values: values, usedNames: map[string]bool{}, usedValues: map[string]bool{}}
}

func (p *placeholders) unused() error {
	for _, kind := range []struct {
		what string
		left []string
	}{{"Names", unusedOf(p.names, p.usedNames)}, {"Values", unusedOf(p.values, p.usedValues)}} {
		if len(kind.left) > 0 {
			return invalid("Value provided in ExpressionAttribute%s unused in expressions: keys: {%s}", kind.what, joined(kind.left))
		}
	}
	return nil
}

func unusedOf[V any](given map[string]V, used map[string]bool) (left []string) {
	for name := range given {
		if !used[name] {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}

func (p *placeholders) parser(name, text string) *parser {
	q := &parser{name: name, names: p}
	switch tokens, bad := tokenize(text); {
	case strings.TrimSpace(text) == "":
		q.fail("The expression can not be empty;")
	case len(text) > maxExpression:
		q.fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	case bad != "":
		q.fail("Syntax error; token: %q", bad)
	default:
		q.tokens = tokens
	}
	return q
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = invalid("Invalid "+p.name+": "+format, args...)
	}
	p.tokens, p.at = nil, 0
}

func (p *parser) peek() string { return p.ahead(0) }

func (p *parser) ahead(n int) string {
	if p.at+n >= len(p.tokens) {
		return ""
	}
	return p.tokens[p.at+n]
}

func (p *parser) next() string {
	t := p.peek()
	p.at++
	return t
}

// keyword says whether the next word is the one asked for, in any case, and takes it.
func (p *parser) keyword(word string) bool {
	if !strings.EqualFold(p.peek(), word) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(token string) {
	if t := p.peek(); t != token {
		p.syntax(t)
		return
	}
	p.at++
}

func (p *parser) syntax(token string) {
	if token == "" {
		token = "<EOF>"
	}
	p.fail("Syntax error; token: %q, near: %q", token, strings.Join(p.tokens[max(0, min(p.at-1, len(p.tokens))):min(p.at+2, len(p.tokens))], " "))
}

// end is what every parse closes with.
func (p *parser) end() error {
	if t := p.peek(); t != "" {
		p.syntax(t)
	}
	if p.err != nil {
		return p.err
	}
	return nil
}

// tokenize cuts the text into words, # and : placeholders, numbers and signs. It returns the
// character that fits nothing.
func tokenize(s string) (tokens []string, bad string) {
	for i := 0; i < len(s); {
		n := 1
		switch c := s[i]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
			continue
		case c == '#' || c == ':':
			n += wordLength(s[i+1:])
			if n == 1 {
				return nil, s[i : i+1]
			}
		case isLetter(c) || isDigit(c):
			n = wordLength(s[i:])
		case strings.HasPrefix(s[i:], "<>"), strings.HasPrefix(s[i:], "<="), strings.HasPrefix(s[i:], ">="):
			n = 2
		case strings.IndexByte("()[].,=<>+-", c) < 0:
			return nil, s[i : i+1]
		}
		tokens = append(tokens, s[i:i+n])
		i += n
	}
	return tokens, ""
}

func wordLength(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '_') {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
