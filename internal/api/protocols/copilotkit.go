package protocols

import (
	"net/http"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/agui"
	"github.com/dormouse-dev/dormouse/internal/api/httpapi"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// CopilotKit serves the runtime that CopilotKit's pages talk to, which speaks AG-UI.
//
//	GET  /copilotkit/info                     the agents
//	POST /copilotkit/agent/AGENT/run          as POST /ag-ui/AGENT
//	POST /copilotkit/agent/AGENT/connect      as POST /ag-ui/AGENT/connect
//	POST /copilotkit/agent/AGENT/stop/THREAD  cancels the run
//	POST /copilotkit                          one of these, which the body names
type CopilotKit struct {
	AGUI
	Reads Reads
}

// Name implements [httpapi.Protocol].
func (CopilotKit) Name() string { return "copilotkit" }

// Routes implements [httpapi.Protocol].
func (d CopilotKit) Routes() []httpapi.ProtocolRoute {
	read := []access.Role{access.Read}
	return []httpapi.ProtocolRoute{
		{Method: http.MethodGet, Path: "/copilotkit/info", Roles: read, Serve: d.info},
		{Method: http.MethodPost, Path: "/copilotkit/agent/{agent}/run", Roles: read, Serve: d.served(d.run)},
		{Method: http.MethodPost, Path: "/copilotkit/agent/{agent}/connect", Roles: read, Serve: d.served(d.connect)},
		{Method: http.MethodPost, Path: "/copilotkit/agent/{agent}/stop/{thread}", Roles: canStop, Serve: func(w http.ResponseWriter, v *httpapi.Visit) error {
			return d.stop(w, d.chat(v, v.PathValue("agent"), v.PathValue("thread")))
		}},
		{Method: http.MethodPost, Path: "/copilotkit", Roles: []access.Role{access.Read, access.Start, access.Decide}, Serve: d.single},
	}
}

var canStop = []access.Role{access.Start, access.Decide}

// envelope is a request to the one address for all of them.
type envelope struct {
	Method string `json:"method"`
	Params struct {
		Agent  string `json:"agentId"`
		Thread string `json:"threadId"`
	} `json:"params"`
	Body agui.Input `json:"body"`
}

func (d CopilotKit) single(w http.ResponseWriter, v *httpapi.Visit) error {
	var in envelope
	if err := v.ReadBody(w, &in); err != nil {
		return err
	}
	roles := []access.Role{access.Read}
	if in.Method == "agent/stop" {
		roles = canStop
	}
	if err := v.May(roles...); err != nil {
		return err
	}
	switch in.Method {
	case "info":
		return d.info(w, v)
	case "agent/run":
		return d.run(w, d.chat(v, in.Params.Agent, in.Body.ThreadID), in.Body)
	case "agent/connect":
		return d.connect(w, d.chat(v, in.Params.Agent, in.Body.ThreadID), in.Body)
	case "agent/stop":
		return d.stop(w, d.chat(v, in.Params.Agent, in.Params.Thread))
	}
	return refusal.New(refusal.CodeInvalid, "method must be info, agent/run, agent/connect or agent/stop")
}

// runtimeInfo is what the runtime can do.
type runtimeInfo struct {
	Version       string                  `json:"version"`
	Agents        map[string]runtimeAgent `json:"agents"`
	Transcription bool                    `json:"audioFileTranscriptionEnabled"`
	Mode          string                  `json:"mode"` // always "sse"
	Suggestions   bool                    `json:"suggestions"`
}

// runtimeAgent describes an agent.
type runtimeAgent struct {
	Name         string       `json:"name"`
	ClassName    string       `json:"className"`
	Description  string       `json:"description"`
	Capabilities capabilities `json:"capabilities"`
}

// capabilities are AG-UI's.
type capabilities struct {
	Transport struct {
		Streaming bool `json:"streaming"`
	} `json:"transport"`
	Tools struct {
		Supported     bool `json:"supported"`
		ParallelCalls bool `json:"parallelCalls"`
		Client        bool `json:"clientProvided"`
	} `json:"tools"`
	State struct {
		Snapshots  bool `json:"snapshots"`
		Persistent bool `json:"persistentState"`
	} `json:"state"`
	People struct {
		Supported        bool `json:"supported"`
		Approvals        bool `json:"approvals"`
		Interrupts       bool `json:"interrupts"`
		ApproveWithEdits bool `json:"approveWithEdits"`
	} `json:"humanInTheLoop"`
}

func describe(a wire.Agent) runtimeAgent {
	d := runtimeAgent{Name: a.Name, ClassName: "HttpAgent", Description: a.Description}
	c := &d.Capabilities
	c.Transport.Streaming = true
	c.Tools.Client = slices.Contains(a.Accepts, supplied.AcceptTools)
	c.Tools.Supported, c.Tools.ParallelCalls = len(a.Tools) > 0 || c.Tools.Client, true
	c.State.Snapshots, c.State.Persistent = true, true
	c.People.Supported, c.People.Approvals, c.People.Interrupts, c.People.ApproveWithEdits = true, true, true, true
	return d
}

// info lists the agents that the caller may talk to.
func (d CopilotKit) info(w http.ResponseWriter, v *httpapi.Visit) error {
	page, err := d.Reads.Agents(v.Context(), v.Caller())
	if err != nil {
		return err
	}
	info := runtimeInfo{Version: agui.Protocol, Agents: map[string]runtimeAgent{}, Mode: "sse"}
	for _, a := range page.Items {
		info.Agents[a.Name] = describe(a)
	}
	return v.WriteJSON(w, http.StatusOK, info)
}

// stop cancels the newest run of a conversation.
func (CopilotKit) stop(w http.ResponseWriter, c chat) error {
	if err := c.cancel(); err != nil {
		return err
	}
	return c.visit.WriteJSON(w, http.StatusOK, map[string]bool{"stopped": true})
}
