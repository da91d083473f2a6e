package openai

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// illegal matches what some endpoint rejects in the name of a tool or the id of a call.
var illegal = lazyregexp.New(`[^a-zA-Z0-9_-]`)

// legal reports whether every endpoint accepts a text as such a name or id. A step asks it about
// each call of the conversation, for which an expression would take as long as writing them.
func legal(text string) bool {
	for i := range len(text) {
		switch b := text[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '_', b == '-':
		default:
			return false
		}
	}
	return 1 <= len(text) && len(text) <= 64
}

// names maps the names of tools to those of the endpoint, and back. A name that every endpoint
// accepts stays; another becomes its legal characters and a digest. It is thus the same in every
// step, whatever other tools are offered.
type names struct{ there, back map[string]string }

func namesOf(p engine.Prompt) names {
	n := names{map[string]string{}, map[string]string{}}
	var odd []string
	see := func(name string) {
		switch {
		case n.there[name] != "":
		case legal(name):
			n.there[name], n.back[name] = name, name
		default:
			odd = append(odd, name)
		}
	}
	for _, t := range p.Tools {
		see(t.Name)
	}
	for _, m := range p.Messages {
		for _, c := range m.Calls {
			see(c.Name)
		}
	}
	for _, name := range odd { // after all names that stay are known
		n.place(name)
	}
	return n
}

func (n names) place(name string) {
	for seed := name; n.there[name] == ""; seed += "+" {
		if wire := legalised(name, seed); n.back[wire] == "" {
			n.there[name], n.back[wire] = wire, name
		}
	}
}

// given returns the agent's name of a tool that the model called; an unknown name stays.
func (n names) given(wire string) string {
	if name, ok := n.back[wire]; ok {
		return name
	}
	return wire
}

// callID returns a call's id in a form that every endpoint accepts.
func callID(id string) string {
	if legal(id) {
		return id
	}
	return legalised(id, id)
}

func legalised(text, seed string) string {
	kept := illegal.ReplaceAllString(text, "_")
	return kept[:min(len(kept), 51)] + "_" + core.Digest([]byte(seed))[:12]
}
