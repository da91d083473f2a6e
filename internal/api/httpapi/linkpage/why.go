package linkpage

import (
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
)

// what says exactly what a yes does, in the words of the call's resume mode, and with what.
func (v questionView) what(m *markup) {
	if v.asksToGoOn() {
		v.goesOn(m)
		return
	}
	switch {
	case v.client():
		m.add(`<h2>What was requested, exactly</h2><p class="hint">Chosen by the assistant. The program that started the run should do this; your answer is the result of the call.</p>`)
	case v.asksInput() && v.Mode != core.UseDecisionAsToolResult:
		m.add(`<h2>What was requested, exactly</h2><p class="hint">Chosen by the assistant. The tool needs your answer to go on.</p>`)
	case v.answers():
		m.add(`<h2>What was requested, exactly</h2><p class="hint">Chosen by the assistant. The tool does not run: your answer is its result.</p>`)
	case v.Mode == core.PassDecisionToTool:
		m.add(`<h2>What will be done, exactly</h2><p class="hint">Chosen by the assistant. The tool runs with these arguments and no others, and also gets your decision and its reason.</p>`)
	default:
		m.add(`<h2>What will be done, exactly</h2><p class="hint">Chosen by the assistant. The tool gets these arguments and no others.</p>`)
	}
	if v.answers() || !plainTool(v.Tool) {
		m.framed(`Tool`, v.Tool)
	}
	v.preview(m)
	m.values(v.Arguments)
	if v.ToolDetails != nil {
		v.tool(m, *v.ToolDetails)
	}
	v.technical(m)
}

// goesOn says what a yes and a no do where the run itself asks.
func (v questionView) goesOn(m *markup) {
	m.add(`<h2>What will be done, exactly</h2><p class="hint">If you approve, the assistant goes on with its work. If you deny, its run ends. No tool runs by your answer alone.</p>`)
	v.technical(m)
}

func (v questionView) technical(m *markup) {
	m.add(`<details><summary>Technical details</summary><div class="zone"><dl>`)
	if v.Tool != "" {
		m.fact(`Tool`, v.Tool)
	}
	m.fact(`Agent`, v.Agent)
	m.fact(`Version`, v.AgentVersion)
	m.fact(`Run`, v.RunID)
	m.fact(`Question`, v.Suspension.ID)
	m.fact(`Fingerprint`, v.Fingerprint)
	if v.Preview != nil && v.Preview.Tool != "" {
		m.fact(`Preview made by`, v.Preview.Tool)
	}
	m.add(`</dl></div></details>`)
}

// preview shows what the call would do. It was made when the question was, and may be out of date.
func (v questionView) preview(m *markup) {
	switch p := v.Preview; {
	case p == nil:
	case p.Failed != "":
		m.framed(`Preview`, p.Failed)
	case p.Text == "":
		m.add(`<p class="hint">The preview of this call is empty.</p>`)
	case p.Tool != "":
		m.framed(`Current value when this was asked`, p.Text)
	default:
		m.framed(`In short`, p.Text)
	}
}

// reached are the words before a target, by the kind of the tool.
var reached = map[string]tag{"http": `HTTP request to`, "lambda": `Lambda function`, "mcp": `MCP server and tool`, "go": `Function of this server`,
	"agent": `Starts a run of the agent`, "a2a": `Gives a task to the agent at`}

// tool shows what the tool does and where the call goes, as the agent's author wrote it.
func (v questionView) tool(m *markup, t wire.ToolDetails) {
	if t.Description != "" {
		m.framed(`About the tool`, t.Description)
	}
	switch label, known := reached[t.Kind]; {
	case t.Target != "" && known:
		m.framed(label, t.Target)
	case t.Kind == "client":
		m.add(`<p class="hint">The program that started the run runs the call itself.</p>`)
	case t.Kind == "recorded":
		m.add(`<p class="hint">The tool answers from a recording and reaches nothing.</p>`)
	}
}

// why shows what led to the call: the rule, the request, the model's text, and the callers behind
// it. Each text has a separate frame; only the words around the frames are the page's.
func (v questionView) why(m *markup) {
	m.add(`<h2>Why you are asked</h2>`)
	if v.Suspension.Message != "" {
		m.framed(v.messageLabel(), v.Suspension.Message)
	}
	v.requests(m)
	if v.Said != "" {
		m.framed(`The assistant says`, v.Said)
		m.cut(v.SaidCut)
	}
	v.who(m)
	if !core.IsNull(v.Metadata) {
		m.framed(`Metadata of the run`, string(v.Metadata))
	}
	if v.GrantScope != "" {
		m.add(`<p class="hint">Your approval is for this call only. A caller of the API can give a wider approval:</p>`)
		m.framed(`Wider approval`, v.GrantScope)
	}
}

// requests shows what users wrote, the newest last, each with its sender as the server knows it.
func (v questionView) requests(m *markup) {
	if v.RequestsCut {
		m.add(`<p class="hint">Earlier messages are not shown.</p>`)
	}
	for i, r := range v.Requests {
		label := tag(`The request`)
		if i < len(v.Requests)-1 {
			label = `An earlier message`
		}
		m.framed(label, r.Text)
		m.cut(r.Cut)
		if r.Files > 0 {
			m.add(`<p class="hint">Files that came with it and are not shown: `)
			m.count(r.Files)
			m.add(`</p>`)
		}
		if r.By != "" || r.Via != "" {
			m.framed(`Requested by`, callerInWords(r.By, r.Via))
		}
	}
}

// who names who started the run, as the server knows the name, unless all requests are that
// caller's.
func (v questionView) who(m *markup) {
	by := v.StartedBy
	if by == nil || len(v.Requests) > 0 && !slices.ContainsFunc(v.Requests, func(r wire.Request) bool { return r.By != by.By || r.Via != by.Via }) {
		return
	}
	m.framed(`Run started by`, callerInWords(by.By, by.Via))
}

func callerInWords(by, via string) string {
	switch {
	case by == "":
		return "a caller without a name, by " + via
	case via == "":
		return by
	}
	return by + ", by " + via
}

// cut says that a text is the beginning of a longer one.
func (m *markup) cut(is bool) {
	if is {
		m.add(`<p class="hint">This text is cut; there is more.</p>`)
	}
}
