package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
)

// A rule can be written as one text: a tool's name or pattern, or a target, and in parentheses the
// conditions on the arguments: a glob on the call's only text argument, or comparisons joined with
// " && ".
//
//	Bash
//	Bash(rm *)
//	http:POST api.example.com/pay/*
//	pay(order.total >= 100 && order.currency != "EUR")
var (
	shortRule  = lazyregexp.New(`(?s)^([^()]*)\((.*)\)$`)
	comparison = lazyregexp.New(`(?s)^\s*([a-zA-Z0-9_-]+(?:\.[a-zA-Z0-9_-]+)*) (!=~|=~|!=|==|!~|~|<=|>=|<|>) (.*)$`)
	quoted     = lazyregexp.New(`(?s)^"((?:[^"\\]|\\.)*)"(.*)$`)
	bare       = lazyregexp.New(`(?s)^(-?[0-9][0-9.eE+-]*|true|false)(.*)$`)
)

// ReadShorthand reads a rule that is one text. Its patterns are not checked.
func ReadShorthand(text string) (Rule, error) {
	m := shortRule.FindStringSubmatch(text)
	if m == nil {
		return shortSubject(text), nil
	}
	r := shortSubject(m[1])
	if !comparison.MatchString(m[2]) {
		if m[2] == "" {
			return r, fmt.Errorf("the parentheses of %q are empty; remove them, or write a glob or a comparison", text)
		}
		r.When = Conditions{{Glob: m[2]}}
		return r, nil
	}
	var err error
	r.When, err = ReadComparisons(m[2])
	return r, err
}

// shortSubject is the subject of a rule in one text: a target if it begins with a kind of target
// and a colon, else a tool.
func shortSubject(text string) Rule {
	if AimForm.MatchString(text) {
		return Rule{Tool: "*", Target: text}
	}
	return Rule{Tool: text}
}

// ReadComparisons reads comparisons joined with " && ". Their patterns are not checked.
func ReadComparisons(text string) (Conditions, error) {
	var conditions Conditions
	for {
		m := comparison.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("%q is not a comparison; write an argument, one of ~ =~ !~ !=~ == != < <= > >=, and a value, with blanks between", text)
		}
		value, rest, err := readOperand(m[3])
		if err != nil {
			return nil, err
		}
		c, err := compare(m[1], m[2], value)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
		if rest = strings.TrimSpace(rest); rest == "" {
			return conditions, nil
		}
		next, joined := strings.CutPrefix(rest, "&& ")
		if !joined {
			return nil, fmt.Errorf("%q cannot follow a comparison; join comparisons with &&", rest)
		}
		text = next
	}
}

// readOperand reads the value at the end of a comparison. In quotes only \" is special, so regular
// expressions need no second backslash.
func readOperand(text string) (value any, rest string, err error) {
	if m := quoted.FindStringSubmatch(text); m != nil {
		return strings.ReplaceAll(m[1], `\"`, `"`), m[2], nil
	}
	m := bare.FindStringSubmatch(text)
	if m == nil {
		return nil, "", fmt.Errorf("%q is not a value; write a number, true, false, or text in double quotes", text)
	}
	value = DecodeValue(json.RawMessage(m[1]))
	if !json.Valid([]byte(m[1])) || EqualValues(value, value) != Yes {
		return nil, "", fmt.Errorf("%q is not a number", m[1])
	}
	return value, m[2], nil
}

// compare makes a condition from the three parts of a comparison.
func compare(argument, operator string, value any) (Condition, error) {
	c := Condition{Argument: argument}
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch operator {
	case "==":
		c.Equals = core.Encode(value)
		return c, nil
	case "!=":
		c.NotEquals = core.Encode(value)
		return c, nil
	}
	if slot := c.TextSlot(operator); slot != nil {
		*slot = text
		if !isText || text == "" {
			return c, fmt.Errorf("%s %s needs text in double quotes", argument, operator)
		}
		return c, nil
	}
	*c.NumberSlot(operator) = number
	if !isNumber {
		return c, fmt.Errorf("%s %s needs a number", argument, operator)
	}
	return c, nil
}
