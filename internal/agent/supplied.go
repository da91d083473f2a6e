package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// BySender is what approvers read of each supplied tool. What the client says of it is the client's
// claim, and would be read as the author's words.
const BySender = "The client supplied this tool with its request, and runs it. The agent itself has no such tool."

// CheckSupplied says, in words for the caller, why a run of this version can't start with what was
// supplied; nil if it can.
func (d Definition) CheckSupplied(in supplied.Input) error {
	given := map[string]bool{supplied.AcceptTools: len(in.Tools) > 0, supplied.AcceptContext: len(in.Context) > 0, supplied.AcceptState: len(in.State) > 0}
	for _, member := range supplied.Acceptable {
		if given[member] && !slices.Contains(d.Accepts, member) {
			return fmt.Errorf("the agent %s does not accept %s in a request; omit it, or list it under accepts in the agent's file", d.Name, member)
		}
	}
	var names []string
	for i, t := range in.Tools {
		if err := d.checkSuppliedTool(t, names); err != nil {
			return fmt.Errorf("client_tools[%d]: %w", i, err)
		}
		names = append(names, t.Name)
	}
	return nil
}

// checkSuppliedTool holds a tool against the tools of the version and the names before it.
func (d Definition) checkSuppliedTool(t supplied.Tool, before []string) error {
	if !ToolName.MatchString(t.Name) {
		return fmt.Errorf("%s is not a valid tool name; use letters, digits, - and _, at most 64", spelled(t.Name))
	}
	if own := d.ownName(t.Name); own != "" {
		return fmt.Errorf("the name %q is that of the agent's tool %q, or looks like it; use another", t.Name, own)
	}
	if i := slices.IndexFunc(before, func(name string) bool { return lookAlike(name) == lookAlike(t.Name) }); i >= 0 {
		return fmt.Errorf("the name %q is that of client_tools[%d], or looks like it; use another", t.Name, i)
	}
	schema := DecodeValue(t.Parameters)
	if refers(schema) {
		return fmt.Errorf("the parameters of %q contain a reference, such as $ref; write what it refers to in its place", t.Name)
	}
	if _, err := Compile(t.Parameters); err != nil {
		return fmt.Errorf("the parameters of %q: %w", t.Name, err)
	}
	return nil
}

// ownName is the tool of the version whose name looks like this one; empty if there is none. The
// built-in tool counts, whether the agent has it or not, and so does one whose function is gone.
func (d Definition) ownName(name string) string {
	if lookAlike(name) == lookAlike(core.FinishTool) {
		return core.FinishTool
	}
	for _, t := range d.Tools {
		if lookAlike(t.Name) == lookAlike(name) {
			return t.Name
		}
	}
	return ""
}

// oneGlyph writes the characters of tool names that a reader may take for one another as one.
var oneGlyph = strings.NewReplacer("-", "", "_", "", "0", "o", "1", "l", "i", "l")

// lookAlike is one text for all tool names that a reader, or a model, may take for the same.
func lookAlike(name string) string { return oneGlyph.Replace(strings.ToLower(name)) }

// refers says whether a schema refers to another, or to itself. Each reference may double what it
// costs to check arguments, which is a client's to choose.
func refers(schema any) bool {
	switch v := schema.(type) {
	case map[string]any:
		for name, member := range v {
			if strings.HasPrefix(name, "$") && strings.HasSuffix(strings.ToLower(name), "ref") || refers(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, refers)
	}
	return false
}

// With is the definition for a run that was started with in, and what of in it accepts. The tools
// are added behind its own; one whose name the version uses is left out, so that none is replaced.
// A start with such a tool is refused; it takes a later version to get here.
func (d Definition) With(in supplied.Input) (Definition, supplied.Input) {
	var accepted supplied.Input
	if slices.Contains(d.Accepts, supplied.AcceptContext) {
		accepted.Context = in.Context
	}
	if slices.Contains(d.Accepts, supplied.AcceptState) {
		accepted.State = in.State
	}
	if !slices.Contains(d.Accepts, supplied.AcceptTools) {
		return d, accepted
	}
	tools := slices.Clone(d.Tools)
	for _, t := range in.Tools {
		if d.ownName(t.Name) != "" {
			continue
		}
		accepted.Tools = append(accepted.Tools, t)
		tools = append(tools, Tool{Name: t.Name, Description: t.Description, Client: true, Parameters: t.Parameters, Supplied: true})
	}
	d.Tools = tools
	return d, accepted
}

// withdrawn are the rules against tools that starts supplied, once a version is deployed that does
// not accept any; nil for none.
func (d Definition) withdrawn(deployed *Definition) *Permissions {
	if deployed == nil || slices.Contains(deployed.Accepts, supplied.AcceptTools) {
		return nil
	}
	var p *Permissions
	for _, t := range d.Tools {
		if t.Supplied {
			if p == nil {
				p = &Permissions{}
			}
			p.Deny = append(p.Deny, Rule{Tool: t.Name, Reason: "the agent accepts no tools of clients any more"})
		}
	}
	return p
}
