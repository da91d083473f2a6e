package ways

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
)

// Props is lib/props.ts of the construct: a property with the documentation of each parameter.
func Props(t template.Template) string {
	var b strings.Builder
	b.WriteString("// Generated from template.yaml by .ci/ways update; do not edit.\n\n")
	names, programs := functions(t)
	fmt.Fprintf(&b, "/** A function of template.yaml. */\nexport type FunctionName = %s;\n\n", union(names))
	fmt.Fprintf(&b, "/** A program that functions run; each is a zip of the release. */\nexport type Program = %s;\n\n", union(programs))
	b.WriteString("/** The parameters of template.yaml. */\nexport interface Parameters {\n")
	for _, p := range t.Parameters() {
		fmt.Fprintf(&b, "  /**\n%s   *\n   * @default %s\n   */\n  readonly %s?: %s;\n", wrapped(p.Description), byDefault(p), camel(p.Name), typeOf(p))
	}
	b.WriteString("}\n\n/** The parameter that a property sets. */\nexport const parameterNames = {\n")
	for _, p := range t.Parameters() {
		fmt.Fprintf(&b, "  %s: '%s',\n", camel(p.Name), p.Name)
	}
	b.WriteString("} as const;\n")
	return b.String()
}

func functions(t template.Template) (names, programs []string) {
	used := map[string]bool{}
	for _, f := range t.All("AWS::Lambda::Function") {
		names = append(names, camel(strings.TrimSuffix(f.ID, "Function")))
		used[template.Text(f.Get("Code", "S3Key"))] = true
	}
	slices.Sort(names)
	return names, slices.Sorted(maps.Keys(used))
}

// camel is the name of a property for one of the template: iamRoles for IAMRoles.
func camel(name string) string {
	upper := 0
	for upper < len(name) && unicode.IsUpper(rune(name[upper])) {
		upper++
	}
	if upper > 1 && upper < len(name) {
		upper--
	}
	return strings.ToLower(name[:upper]) + name[upper:]
}

func typeOf(p template.Parameter) string {
	var allowed []string
	for _, v := range p.AllowedValues {
		allowed = append(allowed, template.Text(v))
	}
	switch {
	case p.Type == "Number" && allowed != nil:
		return strings.Join(allowed, " | ")
	case p.Type == "Number":
		return "number"
	case p.Type == "CommaDelimitedList":
		return "string[]"
	case allowed != nil:
		return union(allowed)
	}
	return "string"
}

func byDefault(p template.Parameter) string {
	switch text := template.Text(p.Default); {
	case p.Name == "Version":
		return "the version of this package"
	case p.Type == "Number":
		return text
	case p.Type == "CommaDelimitedList" && text == "":
		return "[]"
	case p.Type == "CommaDelimitedList":
		return "[" + strings.Join(quoted(strings.Split(text, ",")), ", ") + "]"
	default:
		return "'" + text + "'"
	}
}

func union(values []string) string { return strings.Join(quoted(values), " | ") }

func quoted(values []string) (all []string) {
	for _, v := range values {
		all = append(all, "'"+v+"'")
	}
	return all
}

// wrapped is a text as lines of a comment.
func wrapped(text string) string {
	var b strings.Builder
	line := "   *"
	for _, word := range strings.Fields(strings.ReplaceAll(text, "*/", "*\\/")) {
		if len(line)+1+len(word) > 100 {
			b.WriteString(line + "\n")
			line = "   *"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	return b.String()
}
