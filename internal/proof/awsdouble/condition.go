package awsdouble

import (
	"slices"
	"strings"
)

// condition is a node of a condition: AND, OR and NOT over conditions, everything else over
// operands.
type condition struct {
	op       string // AND OR NOT, a comparator, BETWEEN, IN, or the name of a function
	of       []condition
	operands []operand
}

// operand is a path, a value, or the size of either.
type operand struct {
	path    path
	literal *value
	size    bool
}

const maxOperators = 300

// parseCondition reads a condition; nil is none.
func (p *placeholders) parseCondition(name string, text *string) (*condition, error) {
	if text == nil {
		return nil, nil
	}
	q := p.parser(name, *text)
	c := q.parseOr()
	if c.operators() > maxOperators {
		q.fail("The expression contains too many operators; operator count: %d", c.operators())
	}
	if err := q.end(); err != nil {
		return nil, err
	}
	return &c, nil
}

func (c condition) operators() int {
	n := 1
	for _, sub := range c.of {
		n += sub.operators()
	}
	return n
}

func (p *parser) parseOr() condition {
	c := p.parseAnd()
	for p.keyword("OR") {
		c = condition{op: "OR", of: []condition{c, p.parseAnd()}}
	}
	return c
}

func (p *parser) parseAnd() condition {
	c := p.parseNot()
	for p.keyword("AND") {
		c = condition{op: "AND", of: []condition{c, p.parseNot()}}
	}
	return c
}

func (p *parser) parseNot() condition {
	if p.keyword("NOT") {
		return condition{op: "NOT", of: []condition{p.parseNot()}}
	}
	if p.peek() != "(" {
		return p.parseSimple()
	}
	p.next()
	start := p.at
	c := p.parseOr()
	if p.pair(start) {
		p.fail("The expression has redundant parentheses;")
	}
	p.expect(")")
	return c
}

// pair says whether all from start to here stands in one pair of parentheses, so that another
// around it says nothing.
func (p *parser) pair(start int) bool {
	depth := 0
	for i := start; i < p.at && i < len(p.tokens); i++ {
		switch p.tokens[i] {
		case "(":
			depth++
		case ")":
			depth--
		}
		if depth == 0 {
			return p.tokens[i] == ")" && i > start && i == p.at-1
		}
	}
	return false
}

var comparators = []string{"=", "<>", "<", "<=", ">", ">="}

// functions are those that stand as a condition of their own, with how many operands they take.
var functions = map[string]int{"attribute_exists": 1, "attribute_not_exists": 1, "attribute_type": 2, "begins_with": 2, "contains": 2}

func (p *parser) parseSimple() condition {
	if _, ok := functions[p.peek()]; ok && p.ahead(1) == "(" {
		return p.parseFunction()
	}
	first := p.parseOperand()
	switch op := p.peek(); {
	case slices.Contains(comparators, op):
		p.next()
		return p.checked(condition{op: op, operands: []operand{first, p.parseOperand()}})
	case p.keyword("BETWEEN"):
		low := p.parseOperand()
		if !p.keyword("AND") {
			p.syntax(p.peek())
		}
		return p.checked(condition{op: "BETWEEN", operands: []operand{first, low, p.parseOperand()}})
	case p.keyword("IN"):
		return p.checked(condition{op: "IN", operands: append([]operand{first}, p.parseArguments()...)})
	default:
		p.syntax(op)
		return condition{}
	}
}

func (p *parser) parseArguments() (args []operand) {
	p.expect("(")
	args = append(args, p.parseOperand())
	for p.peek() == "," {
		p.next()
		args = append(args, p.parseOperand())
	}
	p.expect(")")
	return args
}

func (p *parser) parseFunction() condition {
	c := condition{op: p.next()}
	c.operands = p.parseArguments()
	if len(c.operands) != functions[c.op] {
		p.fail("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", c.op, len(c.operands))
		return c
	}
	return p.checked(c)
}

func (p *parser) parseOperand() operand {
	switch word := p.peek(); {
	case strings.HasPrefix(word, ":"):
		return operand{literal: p.parseValue()}
	case word == "size" && p.ahead(1) == "(":
		p.next()
		args := p.parseArguments()
		if len(args) != 1 || args[0].size {
			p.fail("Incorrect number of operands for operator or function; operator or function: size, number of operands: %d", len(args))
			return operand{}
		}
		args[0].size = true
		return args[0]
	case p.ahead(1) == "(" && isLetter((word + " ")[0]):
		p.fail("Invalid function name; function: %s", word)
		return operand{}
	default:
		return operand{path: p.parsePath()}
	}
}

// checked refuses what no item could make true.
func (p *parser) checked(c condition) condition {
	if p.err != nil {
		return c
	}
	if problem := c.problem(); problem != "" {
		p.fail("%s", problem)
	}
	return c
}

func (c condition) problem() string {
	switch c.op {
	case "attribute_exists", "attribute_not_exists":
		if c.operands[0].path == nil || c.operands[0].size {
			return "Operator or function requires a document path; operator or function: " + c.op
		}
	case "attribute_type":
		return c.typeProblem()
	case "begins_with":
		return c.wrongLiteral("S", "B")
	case "<", "<=", ">", ">=", "BETWEEN":
		if problem := c.wrongLiteral("S", "N", "B"); problem != "" {
			return problem
		}
	}
	if c.op == "BETWEEN" {
		return c.boundsProblem()
	}
	return c.sameOperand()
}

func (c condition) sameOperand() string {
	if len(c.operands) == 2 && c.operands[0].path != nil && slices.Equal(c.operands[0].path, c.operands[1].path) &&
		c.operands[0].size == c.operands[1].size {
		return "The first operand must be distinct from the remaining operands for this operator or function; operator: " + c.op +
			", first operand: " + c.operands[0].path.String()
	}
	return ""
}

func (c condition) wrongLiteral(kinds ...string) string {
	for _, o := range c.operands {
		if o.literal != nil && !o.size && !slices.Contains(kinds, o.literal.kind) {
			return "Incorrect operand type for operator or function; operator or function: " + c.op + ", operand type: " + o.literal.kind
		}
	}
	return ""
}

func (c condition) typeProblem() string {
	l := c.operands[1].literal
	if l == nil || l.kind != "S" {
		return "Incorrect operand type for operator or function; operator or function: attribute_type"
	}
	if !slices.Contains([]string{"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"}, l.text) {
		return "Invalid attribute type name found; type: " + l.text
	}
	return ""
}

func (c condition) boundsProblem() string {
	low, high := c.operands[1].literal, c.operands[2].literal
	switch {
	case low == nil || high == nil:
		return ""
	case low.kind != high.kind:
		return "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {" + low.kind +
			"}, upper bound operand: AttributeValue: {" + high.kind + "}"
	case low.compare(*high) > 0:
		return "The BETWEEN operator requires upper bound to be greater than or equal to lower bound"
	}
	return ""
}
