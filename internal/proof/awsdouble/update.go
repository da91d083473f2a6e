package awsdouble

import (
	"slices"
	"strings"
)

// action is one part of an UpdateExpression.
type action struct {
	verb   string // SET REMOVE ADD DELETE
	target path
	to     expression
}

// expression is the right-hand side of SET, and the value of ADD and DELETE.
type expression struct {
	op   string // empty for an operand, + - if_not_exists list_append
	of   []expression
	leaf operand
}

var verbs = []string{"SET", "REMOVE", "ADD", "DELETE"}

// parseUpdate reads an UpdateExpression; no text has no actions.
func (p *placeholders) parseUpdate(text *string) ([]action, error) {
	if text == nil {
		return nil, nil
	}
	q := p.parser("UpdateExpression", *text)
	var actions []action
	seen := map[string]bool{}
	for first := true; first || q.peek() != ""; first = false {
		verb := strings.ToUpper(q.next())
		switch {
		case !slices.Contains(verbs, verb):
			q.at--
			q.syntax(q.peek())
		case seen[verb]:
			q.fail("The \"%s\" section can only be used once in an update expression;", verb)
		default:
			actions = append(actions, q.parseSection(verb)...)
		}
		seen[verb] = true
	}
	if err := q.end(); err != nil {
		return nil, err
	}
	return actions, checkTargets(actions)
}

func targets(actions []action) []path {
	paths := make([]path, len(actions))
	for i, a := range actions {
		paths[i] = a.target
	}
	return paths
}

func checkTargets(actions []action) error {
	if a, b, problem := overlapping(targets(actions)); problem != "" {
		return twoPaths("UpdateExpression", a, b, problem)
	}
	return nil
}

func (p *parser) parseSection(verb string) (actions []action) {
	for {
		a := action{verb: verb, target: p.parsePath()}
		switch verb {
		case "SET":
			p.expect("=")
			a.to = p.parseSum()
		case "ADD", "DELETE":
			a.to = expression{leaf: operand{literal: p.parseValue()}}
			p.checkMember(verb, a.to.leaf.literal)
		}
		actions = append(actions, a)
		if p.peek() != "," {
			return actions
		}
		p.next()
	}
}

func (p *parser) checkMember(verb string, v *value) {
	if p.err != nil || setMember[v.kind] != "" || verb == "ADD" && v.kind == "N" {
		return
	}
	p.fail("Incorrect operand type for operator or function; operator: %s, operand type: %s", verb, typeNames[v.kind])
}

var typeNames = map[string]string{"S": "STRING", "N": "NUMBER", "B": "BINARY", "BOOL": "BOOLEAN", "NULL": "NULL", "L": "LIST", "M": "MAP"}

func (p *parser) parseSum() expression {
	left := p.parseTerm()
	op := p.peek()
	if op != "+" && op != "-" {
		return left
	}
	p.next()
	return p.checkSum(expression{op: op, of: []expression{left, p.parseTerm()}})
}

func (p *parser) checkSum(e expression) expression {
	for _, sub := range e.of {
		if l := sub.leaf.literal; p.err == nil && l != nil && l.kind != "N" {
			p.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", e.op, l.kind)
		}
	}
	return e
}

func (p *parser) parseTerm() expression {
	word := p.peek()
	switch {
	case word == "(":
		p.fail("parentheses")
		p.err = unknown("parentheses around a value of an UpdateExpression")
		return expression{}
	case p.ahead(1) != "(" || strings.HasPrefix(word, ":"):
		return expression{leaf: p.parseOperand()}
	case word == "if_not_exists" || word == "list_append":
		p.next()
		return p.parseCall(word)
	default:
		p.fail("Invalid function name; function: %s", word)
		return expression{}
	}
}

func (p *parser) parseCall(name string) expression {
	p.expect("(")
	e := expression{op: name, of: []expression{p.parseSum()}}
	p.expect(",")
	e.of = append(e.of, p.parseSum())
	p.expect(")")
	if name == "if_not_exists" && p.err == nil && e.of[0].leaf.path == nil {
		p.fail("Operator or function requires a document path; operator or function: if_not_exists")
	}
	return e
}
