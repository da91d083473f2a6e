package openai

import (
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// legal matches what every endpoint accepts as the name of a tool or the id of a call.
var (
	legal   = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)
	illegal = lazyregexp.New(`[^a-zA-Z0-9_-]`)
)

// names maps the names of tools to those of the endpoint, and back. A name that every endpoint
// accepts stays; another becomes its legal characters and a digest. It is thus the same in every
// step, whatever other tools are offered.
type names struct{ there, back map[string]string }

func namesOf(p engine.Prompt) names {
	n := names{map[string]string{}, map[string]string{}}
	var odd []string
	see := func(name string) {
		if legal.MatchString(name) {
			n.there[name], n.back[name] = name, name
		} else {
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
	if legal.MatchString(id) {
		return id
	}
	return legalised(id, id)
}

func legalised(text, seed string) string {
	kept := illegal.ReplaceAllString(text, "_")
	return kept[:min(len(kept), 51)] + "_" + core.Digest([]byte(seed))[:12]
}
