package agui

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/supplied"
)

// Supply is what a client sends along with each request: the tools of its page, what the page
// shows, and the state that it shares with the agent. It is read only if the agent accepts it.
type Supply struct {
	Tools   json.RawMessage `json:"tools"`
	Context json.RawMessage `json:"context"`
	State   json.RawMessage `json:"state"`
}

// Empty says whether there is nothing to read. Clients send empty lists, and an empty state.
func (s Supply) Empty() bool { return empty(s.Tools) && empty(s.Context) && empty(s.State) }

func empty(raw json.RawMessage) bool {
	text := string(raw)
	return core.IsNull(raw) || text == "[]" || text == "{}"
}

// Read returns what the agent accepts of it, as the API has it. An error says what is wrong, in
// words for the caller.
func (s Supply) Read(accepts []string) (read wire.Supplied, err error) {
	if slices.Contains(accepts, supplied.AcceptTools) && !empty(s.Tools) && json.Unmarshal(s.Tools, &read.ClientTools) != nil {
		err = errors.New("tools must be a list of objects with name, description and parameters")
	}
	if slices.Contains(accepts, supplied.AcceptContext) && !empty(s.Context) && json.Unmarshal(s.Context, &read.Context) != nil {
		err = errors.Join(err, errors.New("context must be a list of objects with description and value"))
	}
	if slices.Contains(accepts, supplied.AcceptState) && !empty(s.State) {
		read.State = s.State
	}
	return read, err
}
