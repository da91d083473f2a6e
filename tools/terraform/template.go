package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"
)

// object is a JSON object of CloudFormation.
type object = map[string]any

// cloud is the template that the CDK's construct has: what the SAM translator makes of
// template.yaml.
type cloud struct {
	Metadata    struct{ TemplateDigest string }
	Description string
	Parameters  map[string]parameter
	Rules       map[string]rule
	Mappings    object
	Conditions  object
	Resources   map[string]resource
	Outputs     map[string]output
}

type parameter struct {
	Type, Description, AllowedPattern        string
	Default                                  any
	AllowedValues                            []any
	MinLength, MaxLength, MinValue, MaxValue json.Number
}

type rule struct {
	RuleCondition any
	Assertions    []struct {
		Assert            any
		AssertDescription string
	}
}

type resource struct {
	Type, Condition, DeletionPolicy string
	Properties                      object
}

type output struct {
	Condition, Description string
	Value                  any
}

func readTemplate(file string) (*cloud, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var t cloud
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return &t, d.Decode(&t)
}

// snake is a name of CloudFormation as Terraform writes names: iam_roles for IAMRoles.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// call is the function of an expression, and its argument.
func call(v any) (name string, argument any) {
	o, _ := v.(object)
	if len(o) != 1 {
		return "", nil
	}
	for name, argument := range o {
		if name == "Ref" || name == "Condition" || strings.HasPrefix(name, "Fn::") {
			return name, argument
		}
	}
	return "", nil
}

func list(v any) []any { l, _ := v.([]any); return l }
func str(v any) string { s, _ := v.(string); return s }

// absent is AWS::NoValue.
func absent(v any) bool {
	name, of := call(v)
	return name == "Ref" && of == "AWS::NoValue"
}

// optional says whether a value may be AWS::NoValue.
func optional(v any) bool {
	if name, of := call(v); name == "Fn::If" {
		return optional(list(of)[1]) || optional(list(of)[2])
	}
	return absent(v)
}

var reference = regexp.MustCompile(`\$\{(!?)([^}]+)\}`)

// each calls see with the parts of a text of Fn::Sub in their order: text, or the name of a
// reference.
func each(text string, see func(text, name string)) {
	end := 0
	for _, at := range reference.FindAllStringSubmatchIndex(text, -1) {
		see(text[end:at[0]], "")
		if end = at[1]; at[2] != at[3] {
			see("${"+text[at[4]:at[5]]+"}", "")
			continue
		}
		see("", text[at[4]:at[5]])
	}
	see(text[end:], "")
}

func wrong(format string, a ...any) { panic(problem(fmt.Sprintf(format, a...))) }

// problem is what generate and check report.
type problem string
