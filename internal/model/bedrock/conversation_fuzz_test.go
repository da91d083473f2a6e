package bedrock_test

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// FuzzConversation asks with conversations of every shape that the runtime sends, made of texts,
// names and ids of any kind. The double refuses what Bedrock would refuse, which ends an ask with
// an error.
func FuzzConversation(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, "refund", "call_1", "Hello.", "image/png")
	}
	f.Add(uint64(3), "", "", "", "")
	f.Add(uint64(4), "crm.get/ü", "a b\x00", " \n", "application/pdf; x=\"")
	f.Add(uint64(5), "\xff\xfe", "\xff", "\xff\u2028", "TEXT/PLAIN")
	f.Fuzz(func(t *testing.T, seed uint64, name, id, text, media string) {
		m := maker{rand.New(rand.NewPCG(seed, 0)), name, id, text, media}
		r := newRig(t, agent.Model{Whole: seed%2 == 0}, said("Done."))
		p := prompt(m.conversation()...)
		p.Tenant, p.Patient = text, seed%3 == 0
		for i := range m.IntN(3) {
			p.Tools = append(p.Tools, core.ToolSpec{Name: name + strconv.Itoa(i), Description: text})
		}
		if _, err := r.Ask(t.Context(), p); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, r.log.String())
		}
	})
}

type maker struct {
	*rand.Rand
	name, id, text, media string
}

// conversation is well formed: one result for each call, directly behind its turn.
func (m maker) conversation() (out []core.Message) {
	for i := range m.IntN(9) {
		switch m.IntN(4) {
		case 0:
			out = append(out, core.Message{Role: core.RoleSystem, Parts: core.TextParts(m.text)})
		case 1:
			out = append(out, core.Message{Role: core.RoleUser, Parts: m.parts()})
		default:
			turn := core.Message{Role: core.RoleAssistant, Parts: m.parts()}
			for j := range m.IntN(3) {
				c := core.ToolCall{ID: m.id + strconv.Itoa(10*i+j), Name: m.name, Arguments: m.arguments()}
				turn.Calls = append(turn.Calls, c)
				if m.IntN(3) == 0 {
					turn.Parts = append(turn.Parts, core.Part{Type: core.PartCall, Call: c.ID})
				}
			}
			out = append(out, turn)
			for _, c := range turn.Calls {
				out = append(out, core.Message{Role: core.RoleTool, CallID: c.ID, Tool: c.Name, Parts: m.parts(), Error: m.IntN(2) == 0})
			}
		}
	}
	return out
}

func (m maker) parts() (out []core.Part) {
	for range m.IntN(4) {
		switch m.IntN(6) {
		case 0:
			out = append(out, core.Part{Type: core.PartImage, Media: m.media, Data: []byte(m.text)})
		case 1:
			out = append(out, core.Part{Type: core.PartDocument, Media: m.media, Name: m.name, Data: []byte(m.text)})
		case 2:
			out = append(out, core.Part{Type: core.PartReasoning, Provider: m.name, Text: m.text, Sealed: []byte(m.id)})
		default:
			out = append(out, core.Part{Type: core.PartText, Text: m.text})
		}
	}
	return out
}

func (m maker) arguments() []byte {
	return [][]byte{[]byte(`{"":1,"x":[1e999]}`), nil, []byte(`null`), []byte(m.text), core.Encode(m.text), []byte(`{"a":"` + "\xff" + `"}`)}[m.IntN(6)]
}

func TestManyMayAskAtOnce(t *testing.T) {
	r := newRig(t, agent.Model{}, faulty(""))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			p := prompt(user("Refund it."))
			p.Say = func(engine.Delta) {}
			if turn, err := r.Ask(t.Context(), p); err != nil || len(turn.Calls) != 1 {
				t.Errorf("%+v, %v", turn, err)
			}
		})
	}
	wg.Wait()
}
