package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// deployment is what a deployment of the template has: its resources, with all references
// resolved.
type deployment struct {
	Stack     string
	Variables map[string]any // of the template, by the names of its parameters
	Resources map[string]resource
	Refs      map[string]map[string]string // by id: Ref, Arn and others
	Outputs   map[string]string
}

// check holds that the module is the one that generate writes, that the provider knows each
// argument that it sets and attribute that it reads, and that it deploys what the template
// deploys.
func check(g *generator, dir string, in io.Reader) error {
	var wrongs []string
	for name, text := range g.files() {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if string(got) != text {
			wrongs = append(wrongs, name+" is not what template.yaml makes of it; run .ci/ways update")
		}
	}
	m, err := parse(dir)
	if err != nil {
		return err
	}
	known, wrong := schemaWrongs(m)
	wrongs = append(wrongs, wrong...)
	fmt.Printf("%d resources: the provider knows their %d arguments and attributes\n", len(m.resources)-1, known)
	var deployments map[string]deployment
	d := json.NewDecoder(in)
	d.UseNumber()
	if err := d.Decode(&deployments); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(deployments)) {
		compared, wrong, err := compare(g, m, deployments[name])
		if err != nil {
			wrongs = append(wrongs, name+": "+err.Error())
			continue
		}
		fmt.Printf("%s: %d resources compared, %d differ\n", name, compared, len(wrong))
		for _, w := range wrong {
			wrongs = append(wrongs, name+": "+w)
		}
	}
	if wrongs != nil {
		return errors.New(strings.Join(wrongs, "\n"))
	}
	return nil
}

func (d deployment) name(id string) any { return d.Stack + "-" + id }
func (d deployment) ref(id string) any  { return d.Refs[id]["Ref"] }

func (d deployment) alias(v any) (function, alias any) {
	if parts := strings.Split(str(v), ":"); len(parts) == 8 {
		return parts[6], parts[7]
	}
	return nil, nil
}

// returned are the values of what the module reads from AWS: while Terraform plans, they are
// unknown.
func (d deployment) returned(g *generator, value func(string) cty.Value) map[string]cty.Value {
	all := map[string]map[string]cty.Value{}
	for id, r := range g.t.Resources {
		k, is := kinds[r.Type]
		if !is || leftOut[r.Type] != "" {
			continue
		}
		attributes := map[string]cty.Value{"version": value("1")}
		for of, to := range k.get {
			name, suffix, _ := strings.Cut(to, ":")
			if text, there := d.Refs[id][of]; there {
				attributes[name] = value(strings.TrimSuffix(text, ":"+suffix))
			}
		}
		v := cty.ObjectVal(attributes)
		if _, there := d.Resources[id]; r.Condition != "" && there {
			v = cty.TupleVal([]cty.Value{v})
		} else if r.Condition != "" {
			v = cty.EmptyTupleVal // count is 0
		}
		if all[k.to] == nil {
			all[k.to] = map[string]cty.Value{}
		}
		all[k.to][snake(id)] = v
	}
	values := map[string]cty.Value{"data": current("aws_region", "region", "us-east-1", "aws_caller_identity", "account_id", "123456789012", "aws_partition", "partition", "aws")}
	for kind, of := range all {
		values[kind] = cty.ObjectVal(of)
	}
	return values
}

// current is data.KIND.current.ATTRIBUTE for each kind, attribute and value.
func current(of ...string) cty.Value {
	kinds := map[string]cty.Value{}
	for i := 0; i < len(of); i += 3 {
		kinds[of[i]] = cty.ObjectVal(map[string]cty.Value{"current": cty.ObjectVal(map[string]cty.Value{of[i+1]: cty.StringVal(of[i+2])})})
	}
	return cty.ObjectVal(kinds)
}

// compare evaluates the module for a deployment, and says how it differs from the template.
func compare(g *generator, m *module, d deployment) (compared int, wrongs []string, err error) {
	variables := map[string]any{"name": d.Stack, "zips": "zips"}
	for name, value := range d.Variables {
		if g.used[name] {
			variables[variableName(name)] = value
		}
	}
	if wrongs, err = planWrongs(m, variables, d.returned(g, func(string) cty.Value { return cty.UnknownVal(cty.String) })); err != nil {
		return 0, nil, err
	}
	e, err := evaluate(m, variables, d.returned(g, cty.StringVal))
	if err != nil {
		return 0, nil, err
	}
	broken, err := e.rules()
	if err != nil || broken != nil {
		return 0, broken, err
	}
	made, err := e.resources()
	if err != nil {
		return 0, nil, err
	}
	made = attachmentsByContent(made)
	want := map[string]object{}
	for _, id := range slices.Sorted(maps.Keys(d.Resources)) {
		for _, p := range parts(id, d.Resources[id], d) {
			k := kinds[p.kind]
			want[k.to+"."+p.name] = expected(fieldsOf(k), p.properties)
		}
	}
	want = attachmentsByContent(want)
	for _, address := range slices.Sorted(maps.Keys(want)) {
		got, there := made[address]
		if !there {
			wrongs = append(wrongs, address+" is in the template alone")
			continue
		}
		delete(made, address)
		for _, extra := range []string{"filename", "source_code_hash", "publish"} {
			delete(got, extra) // Terraform's own way to deploy code
		}
		if diff := differ("", want[address], normal(got)); diff != "" {
			wrongs = append(wrongs, address+": "+diff)
		}
	}
	for address := range made {
		wrongs = append(wrongs, address+" is in the module alone")
	}
	return len(want), append(wrongs, outputWrongs(e, d)...), nil
}

func outputWrongs(e *evaluation, d deployment) (wrongs []string) {
	for _, o := range e.m.outputs {
		v, diags := o.Body.Attributes["value"].Expr.Value(e.ctx)
		got := ""
		if !diags.HasErrors() && !v.IsNull() {
			got = v.AsString()
		}
		want := ""
		for name, value := range d.Outputs {
			if snake(name) == o.Labels[0] {
				want = value
			}
		}
		if got != want {
			wrongs = append(wrongs, fmt.Sprintf("output %s is %q, and %q in the template: %v", o.Labels[0], got, want, diags))
		}
	}
	return wrongs
}
