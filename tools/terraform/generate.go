package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

// generator writes a module from a template.
type generator struct {
	t    *cloud
	used map[string]bool // parameters that the module refers to
}

func (g *generator) name(id string) any { return object{"Fn::Sub": "${AWS::StackName}-" + id} }
func (g *generator) ref(id string) any  { return object{"Ref": id} }

func (g *generator) alias(v any) (function, alias any) {
	if name, id := call(v); name == "Ref" && g.t.Resources[str(id)].Type == "AWS::Lambda::Alias" {
		of := g.t.Resources[str(id)].Properties
		return of["FunctionName"], of["Name"]
	}
	return nil, nil
}

const written = "# Generated from template.yaml by .ci/ways update; do not edit.\n\n"

// files are the module's files by name.
func (g *generator) files() map[string]string {
	files := map[string]string{"versions.tf": "# Of the template " + g.t.Metadata.TemplateDigest + ".\n\n" + versions, "main.tf": g.main(), "outputs.tf": g.outputs()}
	files["locals.tf"] = g.locals()
	files["variables.tf"] = g.variables() // when it is known which are used
	for name, text := range files {
		files[name] = string(hclwrite.Format([]byte(written + text)))
	}
	return files
}

// write writes the files into a directory.
func (g *generator) write(dir string) error {
	for name, text := range g.files() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const versions = `terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.29, < 7"
    }
  }
}
`

func (g *generator) main() string {
	var b strings.Builder
	b.WriteString("data \"aws_region\" \"current\" {}\n\ndata \"aws_caller_identity\" \"current\" {}\n\ndata \"aws_partition\" \"current\" {}\n\n")
	for _, id := range slices.Sorted(maps.Keys(g.t.Resources)) {
		for _, p := range g.parts(id) {
			g.resource(&b, p)
		}
	}
	return b.String()
}

// parts are those of a resource of the template.
func (g *generator) parts(id string) []part {
	all := parts(id, g.t.Resources[id], g)
	if len(all) > 0 && all[0].kind == "AWS::Lambda::Function" {
		_, of := call(all[0].properties["Role"])
		role := str(list(of)[0])
		for _, p := range parts(role, g.t.Resources[role], g)[1:] {
			all[0].after = append(all[0].after, kinds[p.kind].to+"."+p.name)
		}
	}
	return all
}

func (g *generator) resource(b *strings.Builder, p part) {
	k := kinds[p.kind]
	fmt.Fprintf(b, "resource %q %q {\n", k.to, p.name)
	if p.condition != "" {
		var all []string
		for _, c := range strings.Split(p.condition, "&&") {
			all = append(all, "local."+snake(c))
		}
		fmt.Fprintf(b, "count = %s ? 1 : 0\n", strings.Join(all, " && "))
	}
	g.body(b, p.kind, fieldsOf(k), p.properties)
	for _, name := range slices.Sorted(maps.Keys(p.extra)) {
		fmt.Fprintf(b, "%s = %s\n", name, p.extra[name])
	}
	if p.after != nil {
		fmt.Fprintf(b, "depends_on = [%s]\n", strings.Join(p.after, ", "))
	}
	if p.keep {
		b.WriteString("\nlifecycle {\nprevent_destroy = true\n}\n")
	}
	b.WriteString("}\n\n")
}

// fieldsOf are a kind's, with the name that CloudFormation makes up.
func fieldsOf(k kind) fields {
	all := maps.Clone(k.fields)
	if k.name != "" {
		all["(name)"] = at(k.name)
	}
	return all
}

func (g *generator) body(b *strings.Builder, of string, f fields, properties object) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		value := properties[name]
		field, known := f[name]
		switch {
		case !known:
			wrong("%s.%s is in no attribute of Terraform; add it to kinds (tools/terraform/kinds.go)", of, name)
		case absent(value):
		case field.json:
			fmt.Fprintf(b, "%s = jsonencode(%s)\n", field.to, g.expression(value))
		case field.members == nil:
			fmt.Fprintf(b, "%s = %s\n", field.to, g.expression(value))
		default:
			g.blocks(b, of+"."+name, field, value)
		}
	}
}

func (g *generator) blocks(b *strings.Builder, of string, f field, value any) {
	if all, is := value.([]any); is {
		for _, v := range all {
			g.blocks(b, of, f, v)
		}
		return
	}
	if name, argument := call(value); name == "Fn::If" {
		parts := list(argument)
		if !absent(parts[2]) {
			wrong("%s has two forms, and a block of Terraform one", of)
		}
		fmt.Fprintf(b, "\ndynamic %q {\nfor_each = local.%s ? [1] : []\ncontent {\n", f.to, snake(str(parts[0])))
		g.body(b, of, f.members, parts[1].(object))
		b.WriteString("}\n}\n")
		return
	}
	fmt.Fprintf(b, "\n%s {\n", f.to)
	g.body(b, of, f.members, value.(object))
	b.WriteString("}\n")
}

func (g *generator) locals() string {
	var b strings.Builder
	programs := map[string]bool{}
	for id, r := range g.t.Resources {
		if r.Type == "AWS::Lambda::Function" && leftOutResources[id] == "" {
			programs[str(r.Properties["Code"].(object)["S3Key"])] = true
		}
	}
	var names []string
	for _, p := range slices.Sorted(maps.Keys(programs)) {
		names = append(names, quote(p))
	}
	b.WriteString("locals {\n# The zips of a release by program.\n")
	fmt.Fprintf(&b, "zips = { for program in [%s] : program => \"${var.zips}/${one(fileset(var.zips, \"dormouse_*_lambda_${program}_arm64.zip\"))}\" }\n\n", strings.Join(names, ", "))
	b.WriteString("mappings = " + g.object(g.t.Mappings) + "\n\n")
	for _, name := range slices.Sorted(maps.Keys(g.t.Conditions)) {
		fmt.Fprintf(&b, "%s = %s\n", snake(name), g.test(g.t.Conditions[name]))
	}
	b.WriteString("}\n\n# What parameters need of each other.\nresource \"terraform_data\" \"rules\" {\nlifecycle {\n")
	for _, name := range slices.Sorted(maps.Keys(g.t.Rules)) {
		r := g.t.Rules[name]
		for _, a := range r.Assertions {
			test := g.test(a.Assert)
			if r.RuleCondition != nil {
				test = not(g.test(r.RuleCondition)) + " || " + test
			}
			fmt.Fprintf(&b, "precondition {\ncondition = %s\nerror_message = %s\n}\n", test, quote(a.AssertDescription))
		}
	}
	b.WriteString("}\n}\n")
	return b.String()
}

func (g *generator) outputs() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(g.t.Outputs)) {
		o := g.t.Outputs[name]
		value := g.expression(o.Value)
		if o.Condition != "" {
			value = "local." + snake(o.Condition) + " ? " + value + " : null"
		}
		fmt.Fprintf(&b, "output %q {\ndescription = %s\nvalue = %s\n}\n\n", snake(name), quote(o.Description), value)
	}
	return b.String()
}
