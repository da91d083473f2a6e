package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// raw is an expression of Terraform as it is written.
type raw string

// expression writes a value of the template as one of Terraform.
func (g *generator) expression(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case raw:
		return string(v)
	case string:
		return quote(v)
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	case []any:
		return g.list(v)
	case object:
		if name, argument := call(v); name != "" {
			return g.call(name, argument)
		}
		return g.object(v)
	}
	wrong("%T: %v", v, v)
	return ""
}

// list writes a list; elements that may be absent are null, and left out.
func (g *generator) list(v []any) string {
	var elements []string
	for _, e := range v {
		elements = append(elements, g.expression(e))
	}
	text := "[" + strings.Join(elements, ", ") + "]"
	if strings.Contains(text, "\n") {
		text = "[\n" + strings.Join(elements, ",\n") + ",\n]"
	}
	if slices.ContainsFunc(v, optional) {
		return "[for e in " + text + " : e if e != null]"
	}
	return text
}

func (g *generator) object(v object) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		members = append(members, quote(name)+" = "+g.expression(v[name]))
	}
	if len(members) < 2 {
		return "{ " + strings.Join(members, "") + " }"
	}
	return "{\n" + strings.Join(members, "\n") + "\n}"
}

func (g *generator) call(name string, argument any) string {
	parts := list(argument)
	switch name {
	case "Ref":
		return g.reference(str(argument))
	case "Fn::GetAtt":
		return g.attribute(str(parts[0]), str(parts[1]))
	case "Fn::If":
		return "(local." + snake(str(parts[0])) + " ? " + g.expression(parts[1]) + " : " + g.expression(parts[2]) + ")"
	case "Fn::Join":
		return "join(" + g.expression(parts[0]) + ", " + g.expression(parts[1]) + ")"
	case "Fn::FindInMap":
		return "local.mappings[" + g.expression(parts[0]) + "][" + g.expression(parts[1]) + "][" + g.expression(parts[2]) + "]"
	case "Fn::Sub":
		return g.sub(argument)
	}
	wrong("%s can't be written for Terraform", name)
	return ""
}

func (g *generator) reference(name string) string {
	switch name {
	case "AWS::NoValue":
		return "null"
	case "AWS::StackName":
		return "var.name"
	case "AWS::Region":
		return "data.aws_region.current.region"
	case "AWS::AccountId":
		return "data.aws_caller_identity.current.account_id"
	case "AWS::Partition":
		return "data.aws_partition.current.partition"
	case "AWS::URLSuffix":
		return "data.aws_partition.current.dns_suffix"
	}
	if _, is := g.t.Parameters[name]; is {
		g.used[name] = true
		return "var." + variableName(name)
	}
	return g.attribute(name, "Ref")
}

// attribute is what a resource returns for a reference.
func (g *generator) attribute(id, name string) string {
	r, there := g.t.Resources[id]
	if !there {
		wrong("the template has no %s", id)
	}
	if r.Type == "AWS::Lambda::Version" { // which Terraform publishes with the function
		_, function := call(r.Properties["FunctionName"])
		return g.address(str(function)) + ".version"
	}
	k, known := kinds[r.Type]
	get, is := k.get[name]
	if !known || !is {
		wrong("%s of %s (%s) has no attribute in Terraform; add it to kinds", name, id, r.Type)
	}
	if text, suffix, cut := strings.Cut(get, ":"); cut {
		return `"${` + g.address(id) + "." + text + `}:` + suffix + `"`
	}
	return g.address(id) + "." + get
}

// address is a resource, of which there is one wherever it is referred to.
func (g *generator) address(id string) string {
	r := g.t.Resources[id]
	address := kinds[r.Type].to + "." + snake(id)
	if r.Condition != "" {
		address += "[0]"
	}
	return address
}

// sub writes a text with references. One of several lines is a heredoc.
func (g *generator) sub(argument any) string {
	text, own := str(argument), object{}
	if parts := list(argument); parts != nil {
		text, own = str(parts[0]), parts[1].(object)
	}
	lines := strings.HasSuffix(text, "\n")
	var b strings.Builder
	each(text, func(text, name string) {
		switch {
		case name == "" && lines:
			b.WriteString(escape(text))
		case name == "":
			b.WriteString(inner(text))
		case own[name] != nil:
			b.WriteString("${" + g.expression(own[name]) + "}")
		default:
			value := g.named(name)
			if plain, is := strings.CutPrefix(value, `"${`); is {
				b.WriteString("${" + strings.TrimSuffix(plain, `"`))
				return
			}
			b.WriteString("${" + value + "}")
		}
	})
	if lines {
		return "<<EOT\n" + b.String() + "EOT\n"
	}
	return `"` + b.String() + `"`
}

func (g *generator) named(name string) string {
	if id, attribute, is := strings.Cut(name, "."); is {
		return g.attribute(id, attribute)
	}
	return g.reference(name)
}

func quote(text string) string { return `"` + inner(text) + `"` }

var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

func inner(text string) string { return escape(inQuotes.Replace(text)) }

func escape(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}

// test writes a condition.
func (g *generator) test(condition any) string {
	name, argument := call(condition)
	parts := list(argument)
	both := func(operator string) string {
		var tests []string
		for _, p := range parts {
			tests = append(tests, g.test(p))
		}
		return "(" + strings.Join(tests, " "+operator+" ") + ")"
	}
	switch name {
	case "Condition":
		return "local." + snake(str(argument))
	case "Fn::Not":
		return not(g.test(parts[0]))
	case "Fn::And":
		return both("&&")
	case "Fn::Or":
		return both("||")
	case "Fn::Equals":
		return "(" + g.expression(parts[0]) + " == " + g.expression(parts[1]) + ")"
	}
	wrong("the condition %v can't be written for Terraform", condition)
	return ""
}

// not negates a test.
func not(test string) string {
	if plain, is := strings.CutPrefix(test, "!"); is {
		return plain
	}
	return "!" + test
}
