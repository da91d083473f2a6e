package sim_test

import (
	"math/rand/v2"
	"strconv"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// node is an agent of a tree: what it asks for, turn by turn, and how its runs end. Its name is its
// place: "n" calls "n.0" and "n.1".
type node struct {
	name   string
	depth  int
	kids   []*node
	asks   bool       // in any case
	remote bool       // it runs elsewhere
	turns  [][]string // names of tools; that of a kid calls it
	end    string     // says, finishes, fails, stops, or is missing: it is not deployed
	within int64      // how long it waits for a kid; 0: as long as it takes
	terms  core.Terms
}

// Tools of the agents of a tree, beside the agents below them.
const (
	askTool   = "ask"   // waits for an approval, and runs at most once then
	lookTool  = "look"  // runs unasked
	onceTool  = "once"  // runs unasked, at most once
	formTool  = "form"  // the client runs it
	blockTool = "block" // its gate ends the run
)

// treePlan is what the agents of a seed are like, and what their callers are up to.
type treePlan struct {
	root    *node
	nodes   map[string]*node
	people  int // who decide
	acts    int // of each who meddles
	limited bool
	hasty   bool // they act at once, so that decisions meet cancels
}

// planTree makes the tree of a seed. Most are small: what goes wrong goes wrong between few.
func planTree(seed uint64, p plan) *treePlan {
	rng := rand.New(rand.NewPCG(seed, 91))
	t := &treePlan{nodes: map[string]*node{}, people: 1 + rng.IntN(2), acts: rng.IntN(4), limited: rng.IntN(4) == 0, hasty: rng.IntN(2) == 0}
	t.root = t.add(nil, rng)
	switch n := rng.IntN(100); {
	case n == 0 || *large:
		t.wide(rng)
	case n < 35:
		for at, deep := t.root, 1+min(rng.IntN(4), rng.IntN(5)); at.depth < deep; {
			at = t.add(at, rng)
		}
	case n < 75:
		for range 2 {
			t.add(t.root, rng)
		}
		if rng.IntN(3) == 0 {
			t.add(t.root.kids[rng.IntN(2)], rng)
		}
	default:
		t.grow(t.root, rng)
	}
	for _, n := range t.nodes {
		t.script(n, p, seed)
	}
	t.abroad(seed)
	return t
}

// wide is 20 children side by side, of which 7 ask.
func (t *treePlan) wide(rng *rand.Rand) {
	for range 20 {
		if kid := t.add(t.root, rng); kid.end == "is missing" {
			kid.end = "says"
		}
	}
	for _, i := range rng.Perm(20)[:7] {
		t.root.kids[i].asks = true
	}
}

func (t *treePlan) grow(n *node, rng *rand.Rand) {
	for range 1 + rng.IntN(2) {
		if kid := t.add(n, rng); len(t.nodes) < 7 && kid.depth < 4 && rng.IntN(2) == 0 {
			t.grow(kid, rng)
		}
	}
}

func (t *treePlan) add(above *node, rng *rand.Rand) *node {
	n := &node{name: "n"}
	if above != nil {
		n.name, n.depth = above.name+"."+strconv.Itoa(len(above.kids)), above.depth+1
		above.kids = append(above.kids, n)
	}
	n.end = []string{"says", "says", "says", "says", "says", "finishes", "finishes", "fails", "stops"}[rng.IntN(9)]
	if above != nil && rng.IntN(20) == 0 {
		n.end = "is missing"
	}
	t.nodes[n.name] = n
	return n
}

// script says what an agent asks for.
func (t *treePlan) script(n *node, p plan, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, hash(n.name)))
	var turn []string
	for _, kid := range n.kids {
		if rng.IntN(5) == 0 && len(turn) > 0 && len(n.kids) < 20 {
			n.turns, turn = append(n.turns, turn), nil
		}
		turn = append(turn, kid.name)
	}
	bodies := [][]string{{askTool}, {askTool}, {lookTool}, {askTool, lookTool}, {onceTool}, {askTool, askTool}, {formTool}}
	if more := rng.IntN(3); len(n.turns) == 0 && (len(n.kids) == 0 && more > 0 || more == 0) {
		turn = append(turn, bodies[rng.IntN(len(bodies))]...)
	}
	if n.asks {
		turn = []string{askTool}
	}
	if rng.IntN(40) == 0 {
		turn = append(turn, blockTool)
	}
	if len(turn) > 0 {
		n.turns = append(n.turns, turn)
	}
	if len(n.kids) > 0 && rng.IntN(8) == 0 {
		n.turns = append(n.turns, []string{n.kids[0].name}) // the same agent a second time
	}
	n.terms = core.Terms{Parallel: p.terms.Parallel, Continue: p.terms.Continue && !p.calm && rng.IntN(2) == 0, Price: &core.Price{Input: 1_000_000, Output: 1_000_000}}
	if rng.IntN(12) == 0 && len(n.kids) < 20 {
		n.terms.Depth, n.terms.Children = 1+rng.IntN(4), 1+rng.IntN(3)
	}
	if t.limited && (n.depth == 0 || rng.IntN(3) == 0) {
		n.terms.RunCost = core.CostLimit{Most: core.USD(5 + rng.IntN(150)), Ask: rng.IntN(2) == 0}
	}
	if p.deadlines && rng.IntN(3) > 0 {
		n.within = int64(2000 + rng.IntN(60_000))
	}
}
