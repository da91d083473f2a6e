package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// module is what the files of a module say.
type module struct {
	variables, resources, outputs []*hclsyntax.Block
	locals                        map[string]hclsyntax.Expression
}

func parse(dir string) (*module, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no module: %v", dir, err)
	}
	m := &module{locals: map[string]hclsyntax.Expression{}}
	p := hclparse.NewParser()
	for _, file := range files {
		f, diags := p.ParseHCLFile(file)
		if diags.HasErrors() {
			return nil, diags
		}
		for _, b := range f.Body.(*hclsyntax.Body).Blocks {
			switch b.Type {
			case "variable":
				m.variables = append(m.variables, b)
			case "resource":
				m.resources = append(m.resources, b)
			case "output":
				m.outputs = append(m.outputs, b)
			case "locals":
				for name, a := range b.Body.Attributes {
					m.locals[name] = a.Expr
				}
			}
		}
	}
	return m, nil
}

// functions are those of Terraform that the module calls; those that read files find a release.
var functions = map[string]function.Function{
	"jsonencode": stdlib.JSONEncodeFunc, "join": stdlib.JoinFunc, "length": stub(cty.Number, length), "contains": stdlib.ContainsFunc, "regex": stdlib.RegexFunc,
	"can": tryfunc.CanFunc,
	"alltrue": stub(cty.Bool, func(args []cty.Value) cty.Value {
		return cty.BoolVal(!slices.ContainsFunc(args[0].AsValueSlice(), func(v cty.Value) bool { return v.False() }))
	}),
	"one": stub(cty.DynamicPseudoType, func(args []cty.Value) cty.Value { return args[0].AsValueSlice()[0] }),
	"fileset": stub(cty.Set(cty.String), func(args []cty.Value) cty.Value {
		return cty.SetVal([]cty.Value{cty.StringVal(strings.ReplaceAll(args[1].AsString(), "*", "0.1.0"))})
	}),
	"filebase64sha256": stub(cty.String, func(args []cty.Value) cty.Value { return cty.StringVal("hash of " + args[0].AsString()) }),
}

// length counts characters, too.
func length(args []cty.Value) cty.Value {
	if v := args[0]; v.Type() != cty.String {
		return cty.NumberIntVal(int64(v.LengthInt()))
	}
	return cty.NumberIntVal(int64(utf8.RuneCountInString(args[0].AsString())))
}

func stub(kind cty.Type, f func(args []cty.Value) cty.Value) function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "arguments", Type: cty.DynamicPseudoType},
		Type:     function.StaticReturnType(kind),
		Impl:     func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f(args), nil },
	})
}

// evaluation is a module with values in the places of variables and of what AWS returns.
type evaluation struct {
	m   *module
	ctx *hcl.EvalContext
}

// evaluate sets the variables, checks their validations, and evaluates the locals.
func evaluate(m *module, variables map[string]any, returned map[string]cty.Value) (*evaluation, error) {
	e := &evaluation{m: m, ctx: &hcl.EvalContext{Functions: functions, Variables: map[string]cty.Value{}}}
	values := map[string]cty.Value{}
	for _, v := range m.variables {
		value, err := e.variable(v, variables)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Labels[0], err)
		}
		values[v.Labels[0]] = value
	}
	for name := range variables {
		if _, there := values[name]; !there {
			return nil, fmt.Errorf("the module has no variable %s", name)
		}
	}
	maps.Copy(e.ctx.Variables, returned)
	e.ctx.Variables["var"] = cty.ObjectVal(values)
	for _, v := range m.variables {
		if err := e.valid(v); err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Labels[0], err)
		}
	}
	return e, e.locals()
}

func (e *evaluation) variable(b *hclsyntax.Block, given map[string]any) (cty.Value, error) {
	kind, diags := typeexpr.TypeConstraint(b.Body.Attributes["type"].Expr)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	if value, there := given[b.Labels[0]]; there {
		text, err := json.Marshal(value)
		if err != nil {
			return cty.NilVal, err
		}
		of, err := ctyjson.ImpliedType(text)
		if err != nil {
			return cty.NilVal, err
		}
		v, err := ctyjson.Unmarshal(text, of)
		if err != nil {
			return cty.NilVal, err
		}
		return convert.Convert(v, kind)
	}
	of := b.Body.Attributes["default"]
	if of == nil {
		return cty.NilVal, fmt.Errorf("it has no default and no value")
	}
	v, diags := of.Expr.Value(e.ctx)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return convert.Convert(v, kind)
}

func (e *evaluation) valid(b *hclsyntax.Block) error {
	for _, v := range b.Body.Blocks {
		holds, diags := v.Body.Attributes["condition"].Expr.Value(e.ctx)
		say, _ := v.Body.Attributes["error_message"].Expr.Value(e.ctx)
		if diags.HasErrors() {
			return diags
		}
		if !holds.RawEquals(cty.True) {
			return fmt.Errorf("%s", say.AsString())
		}
	}
	return nil
}

// locals evaluates each local once those that it names are known.
func (e *evaluation) locals() error {
	known := map[string]cty.Value{}
	for len(known) < len(e.m.locals) {
		before := len(known)
		for name, expression := range e.m.locals {
			if _, is := known[name]; is || !ready(expression, known) {
				continue
			}
			e.ctx.Variables["local"] = cty.ObjectVal(known)
			v, diags := expression.Value(e.ctx)
			if diags.HasErrors() {
				return diags
			}
			known[name] = v
		}
		if len(known) == before {
			return fmt.Errorf("locals name each other in a circle")
		}
	}
	e.ctx.Variables["local"] = cty.ObjectVal(known)
	return nil
}

func ready(expression hclsyntax.Expression, known map[string]cty.Value) bool {
	for _, t := range expression.Variables() {
		if t.RootName() == "local" {
			if _, is := known[t[1].(hcl.TraverseAttr).Name]; !is {
				return false
			}
		}
	}
	return true
}

// rules are the error messages of the preconditions that don't hold.
func (e *evaluation) rules() (broken []string, err error) {
	for _, r := range e.m.resources {
		if r.Labels[0] != "terraform_data" {
			continue
		}
		for _, lifecycle := range r.Body.Blocks {
			for _, p := range lifecycle.Body.Blocks {
				holds, diags := p.Body.Attributes["condition"].Expr.Value(e.ctx)
				if diags.HasErrors() {
					return nil, diags
				}
				if holds.False() {
					say, _ := p.Body.Attributes["error_message"].Expr.Value(e.ctx)
					broken = append(broken, say.AsString())
				}
			}
		}
	}
	return broken, nil
}

// body evaluates a block: attributes, and blocks as lists by their names.
func (e *evaluation) body(b *hclsyntax.Body) (object, error) {
	out := object{}
	for name, a := range b.Attributes {
		if name == "count" || name == "depends_on" {
			continue
		}
		v, diags := a.Expr.Value(e.ctx)
		if diags.HasErrors() {
			return nil, diags
		}
		text, err := ctyjson.Marshal(v, v.Type())
		if err != nil {
			return nil, err
		}
		var value any
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		out[name] = value
	}
	for _, of := range b.Blocks {
		name, content := of.Type, of.Body
		switch name {
		case "lifecycle":
			continue
		case "dynamic":
			each, diags := content.Attributes["for_each"].Expr.Value(e.ctx)
			if diags.HasErrors() {
				return nil, diags
			}
			if each.LengthInt() == 0 {
				continue
			}
			name, content = of.Labels[0], content.Blocks[0].Body
		}
		inner, err := e.body(content)
		if err != nil {
			return nil, err
		}
		out[name] = append(list(out[name]), inner)
	}
	return out, nil
}

// resources are those that the module has with these variables, by address.
func (e *evaluation) resources() (map[string]object, error) {
	all := map[string]object{}
	for _, r := range e.m.resources {
		if r.Labels[0] == "terraform_data" {
			continue
		}
		address := r.Labels[0] + "." + r.Labels[1]
		if !e.counted(r.Body) {
			continue
		}
		body, err := e.body(r.Body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", address, err)
		}
		all[address] = body
	}
	return all, nil
}

// planWrongs evaluates the module as a first plan does, when nothing is known of what AWS returns:
// how many of each resource there are must be known.
func planWrongs(m *module, variables map[string]any, returned map[string]cty.Value) (wrongs []string, err error) {
	e, err := evaluate(m, variables, returned)
	if err != nil {
		return nil, err
	}
	var look func(at string, b *hclsyntax.Body)
	look = func(at string, b *hclsyntax.Body) {
		for name, a := range b.Attributes {
			if name == "depends_on" {
				continue
			}
			v, diags := a.Expr.Value(e.ctx)
			if diags.HasErrors() {
				wrongs = append(wrongs, at+"."+name+": "+diags.Error())
			}
			if (name == "count" || name == "for_each") && !v.IsWhollyKnown() {
				wrongs = append(wrongs, at+"."+name+" is not known when Terraform plans")
			}
		}
		for _, inner := range b.Blocks {
			look(at+"."+inner.Type, inner.Body)
		}
	}
	for _, r := range m.resources {
		if e.counted(r.Body) {
			look(strings.Join(r.Labels, "."), r.Body)
		}
	}
	return wrongs, nil
}

// counted says whether there is one of a resource.
func (e *evaluation) counted(b *hclsyntax.Body) bool {
	count := b.Attributes["count"]
	if count == nil {
		return true
	}
	n, _ := count.Expr.Value(e.ctx)
	return !n.IsKnown() || !n.RawEquals(cty.Zero)
}
