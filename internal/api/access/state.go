package access

import "time"

// State names a run in the text that a client is given and hands back with its next request. It
// grants nothing: what the client then asks for is checked as if it had named the run itself.
type State struct {
	Tenant  string
	By      string // see [Principal.By]
	Run     string
	Expires time.Time // to the second
}

// stateForm is not [ticketForm]: a state opens no stream.
const stateForm = "run-state-1"

// SignState is the state's text. The first key signs it.
func (k LinkKeys) SignState(s State) string {
	return k.sign(stateForm, s.Expires, s.Tenant, s.By, s.Run)
}

// OpenState reads what [LinkKeys.SignState] wrote, by any of the keys. Its errors are those of
// [LinkKeys.Open].
func (k LinkKeys) OpenState(signed string, now time.Time) (State, error) {
	fields, expires, err := k.open(stateForm, signed, 3, now)
	if err != nil {
		return State{}, err
	}
	return State{Tenant: fields[0], By: fields[1], Run: fields[2], Expires: expires}, nil
}
