package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const own = `variable "name" {
type = string
description = "The name of the deployment. Names of all resources begin with it, as those of a stack do."
nullable = false
validation {
condition = can(regex("^[a-z][a-z0-9-]{0,19}$", var.name))
error_message = "Use at most 20 lower-case letters, digits and dashes, and begin with a letter."
}
}

variable "zips" {
type = string
description = "The directory with the files dormouse_VERSION_lambda_PROGRAM_arm64.zip of one release."
nullable = false
validation {
condition = length(fileset(var.zips, "dormouse_*_lambda_api_arm64.zip")) == 1
error_message = "The directory must have the files of one release."
}
}
`

// variableName is what a parameter is called: version would be the module's own.
func variableName(parameter string) string {
	if parameter == "Version" {
		return "app_version"
	}
	return snake(parameter)
}

// variables are those of the parameters that the module uses.
func (g *generator) variables() string {
	var b strings.Builder
	b.WriteString(own)
	for _, name := range slices.Sorted(maps.Keys(g.t.Parameters)) {
		if g.used[name] {
			b.WriteString("\n" + variable(name, g.t.Parameters[name]))
		}
	}
	return b.String()
}

func variable(name string, p parameter) string {
	var b strings.Builder
	of := "var." + variableName(name)
	kind := map[string]string{"String": "string", "Number": "number", "CommaDelimitedList": "list(string)"}[p.Type]
	if kind == "" {
		wrong("parameter %s is of type %s", name, p.Type)
	}
	fmt.Fprintf(&b, "variable %q {\ntype = %s\ndescription = %s\nnullable = false\n", variableName(name), kind, quote(p.Description))
	if p.Default != nil {
		fmt.Fprintf(&b, "default = %s\n", standard(p))
	}
	for _, v := range validations(of, p) {
		fmt.Fprintf(&b, "validation {\ncondition = %s\nerror_message = %s\n}\n", v[0], quote(v[1]))
	}
	b.WriteString("}\n")
	return b.String()
}

// standard is the default of a parameter, in the type of its variable.
func standard(p parameter) string {
	text := fmt.Sprint(p.Default)
	switch p.Type {
	case "Number":
		return text
	case "CommaDelimitedList":
		var all []string
		for _, part := range strings.Split(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, quote(part))
			}
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	return quote(text)
}

// validations are conditions on a variable, and what to say if one doesn't hold.
func validations(of string, p parameter) (all [][2]string) {
	add := func(test, say string) {
		if p.Type == "CommaDelimitedList" {
			test = "alltrue([for e in " + of + " : " + strings.ReplaceAll(test, of, "e") + "])"
		}
		all = append(all, [2]string{test, say})
	}
	bound := func(n json.Number, test, say string) {
		if n != "" {
			add(fmt.Sprintf(test, n), fmt.Sprintf(say, n))
		}
	}
	if p.AllowedValues != nil {
		var values, words []string
		for _, v := range p.AllowedValues {
			word := fmt.Sprint(v)
			words = append(words, word)
			if p.Type != "Number" {
				word = quote(word)
			}
			values = append(values, word)
		}
		add("contains(["+strings.Join(values, ", ")+"], "+of+")", "Use one of "+strings.Join(words, ", ")+".")
	}
	if p.AllowedPattern != "" {
		add("can(regex("+quote("^(?:"+p.AllowedPattern+")$")+", "+of+"))", "It must match "+p.AllowedPattern+".")
	}
	bound(p.MinLength, "length("+of+") >= %s", "It must have at least %s characters.")
	bound(p.MaxLength, "length("+of+") <= %s", "It must have at most %s characters.")
	bound(p.MinValue, of+" >= %s", "It must be at least %s.")
	bound(p.MaxValue, of+" <= %s", "It must be at most %s.")
	return all
}
