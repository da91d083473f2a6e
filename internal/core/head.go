package core

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SchemaVersion is the newest form of a stored head that this program reads, and the one it writes. Version 2 added members that a
// program that knows version 1 alone would drop.
const SchemaVersion = 2

// Head is the one small record of a thread: what is true now. Nothing in it grows with the age of the run.
//
// Epoch, Rev, Seq, Ev and Sigs never go back, not even when a new run starts. Inbox, Sigs and Due are written by anyone;
// everything else by the holder of the claim alone, on condition of Epoch and Rev.
type Head struct {
	Tenant  string `json:"tenant"`
	Thread  string `json:"thread"`
	Run     string `json:"run"`
	Agent   string `json:"agent"`
	Version string `json:"av"` // digest of the definition the run is pinned to
	Schema  int    `json:"v"`
	Idem    string `json:"idem,omitempty"` // digest of the start that created the thread

	Epoch int64 `json:"epoch"` // raised by each claim
	Rev   int64 `json:"rev"`   // raised by each write of the owner
	CID   Stamp `json:"cid"`   // stamp of the owner's last write
	Seq   int64 `json:"seq"`   // the last segment
	Seg   Stamp `json:"seg"`   // and its stamp
	Ev    int64 `json:"ev"`    // the last event number given out
	Sigs  int64 `json:"sigs"`  // how many signals were ever stored

	Lease int64  `json:"lease,omitempty"` // when the claim ends; 0 means nobody holds one
	Claim string `json:"claim,omitempty"` // who claimed last; stays after a release
	Tries int    `json:"tries,omitempty"` // claims since the last commit
	Kept  bool   `json:"kept,omitempty"`  // the last commit did not give the claim up

	Status    RunStatus       `json:"st"`
	Calls     map[string]Call `json:"calls,omitempty"` // of the current round
	Round     int64           `json:"round,omitempty"` // the segment of the last assistant turn
	Pending   int             `json:"nsus,omitempty"`  // suspended calls that a message does not answer
	Oldest    string          `json:"as,omitempty"`    // key in the list of approvals; empty: nothing is suspended
	Timed     map[string]int  `json:"timed,omitempty"` // suspensions whose deadline closed them; of each, one late answer is recorded
	Held      []Held          `json:"held,omitempty"`  // messages that wait for the end of the run
	Out       map[string]Out  `json:"out,omitempty"`   // what must still be sent
	Deadline  int64           `json:"dl,omitempty"`
	NotBefore int64           `json:"not_before,omitempty"`
	Outage    *Outage         `json:"mo,omitempty"` // set while the model does not answer
	Interrupt string          `json:"int,omitempty"`
	End       *Reason         `json:"end,omitempty"` // set once nothing is accepted any more
	Response  ResponseState   `json:"rs,omitempty"`
	Finish    string          `json:"fin,omitempty"` // the call whose output is the run's

	Counters
	Budget
	Begun    bool `json:"bg,omitempty"` // the hooks of run start have been called
	Closed   bool `json:"cl,omitempty"` // those of run end have
	StepOpen bool `json:"so,omitempty"`
	TurnOpen bool `json:"to,omitempty"`
	Spoken   bool `json:"spk,omitempty"`  // the user has spoken since the model's last turn
	Told     bool `json:"told,omitempty"` // the model's last turn has seen everything there is: nothing came since

	Spoke    int64 `json:"usr,omitempty"`  // the segment of the thread's last user message; 0: none
	Snapshot int64 `json:"snap,omitempty"` // the segment of the last snapshot of the state; 0: none
	Deltas   int64 `json:"delt,omitempty"` // the first segment with writes to the state since; 0: none

	Narrow   json.RawMessage `json:"narrow,omitempty"` // permissions of this run alone; they can only take away
	Grants   []string        `json:"grants,omitempty"` // what approvals of this turn allowed beyond their own calls
	NoMemory bool            `json:"nomem,omitempty"`  // the start asked for none

	RetryOf  string          `json:"retry_of,omitempty"`
	Metadata json.RawMessage `json:"meta,omitempty"`
	Born     int64           `json:"born"`
	At       int64           `json:"at"` // of the last write of the owner
	Seq0     int64           `json:"seq0"`
	Ev0      int64           `json:"ev0"`

	Inbox map[string]Signal `json:"inbox,omitempty"`
	Due   int64             `json:"due,omitempty"` // when the sweep shall wake the thread; 0: never. For the sweep's eyes only
}

// Counters are counted from the start of the run.
type Counters struct {
	Step         int   `json:"step,omitempty"`
	Turn         int   `json:"turn,omitempty"`
	Activations  int   `json:"acts,omitempty"`
	Resumes      int   `json:"res,omitempty"`
	InputTokens  int64 `json:"tin,omitempty"`
	OutputTokens int64 `json:"tout,omitempty"`
	ModelTries   int   `json:"mt,omitempty"` // failed model calls in a row
}

// Budget is what stop rules and budgets count, from the start of the run. Waiting and resuming leave it as it is.
type Budget struct {
	ToolCalls   int      `json:"tc,omitempty"`  // calls that were let through
	StepCalls   int      `json:"sc,omitempty"`  // of them in this step
	RoundOK     int      `json:"rok,omitempty"` // executed calls of this round that succeeded
	RoundFailed int      `json:"rf,omitempty"`  // and that failed
	Errors      int      `json:"err,omitempty"` // rounds in a row in which every executed call failed
	Wrote       bool     `json:"wr,omitempty"`  // a tool that is not read-only succeeded
	Rounds      []string `json:"rnd,omitempty"` // signatures of the last turns, oldest first
	Awake       int64    `json:"aw,omitempty"`  // ms the run has been awake, up to AwakeSince
	AwakeSince  int64    `json:"aws,omitempty"` // 0 while it waits
	Yields      int      `json:"yl,omitempty"`  // turns that were dropped for others
	YieldsInRow int      `json:"ylr,omitempty"` // of them since the last turn that was accepted
}

// Orphaned says, of a head that was just claimed, that whoever had it before was lost: what was at hand then may have begun.
func (h Head) Orphaned() bool { return h.Kept || h.Tries > 1 }

// upgrade reads a head of version 1 as it was meant: it did not say what an approval answers, so one answers whatever is asked.
func (h *Head) upgrade() {
	if h.Schema >= 2 {
		return
	}
	for id, c := range h.Calls {
		switch {
		case c.Approved:
			c.Lifts = anyAsk
		case c.Status == CallSuspended && c.Kind == KindApproval:
			c.Asked = anyAsk
		}
		h.Calls[id] = c
	}
}

// Held is a message that waits for the end of the run: the segment it was journaled in, and its key there.
type Held struct {
	Seq int64  `json:"s"`
	Key string `json:"k"`
}

// ResponseState is what the end of a run means to its caller.
type ResponseState string

const (
	ResponseDone          ResponseState = "done"
	ResponseNoOp          ResponseState = "no_op"
	ResponseAwaitingInput ResponseState = "awaiting_input"
)

// Call is what the head knows of one call of the current round. Arguments and results are in the journal.
type Call struct {
	Status   CallStatus `json:"st"`
	Kind     Kind       `json:"kind,omitempty"`
	Mode     ResumeMode `json:"mode,omitempty"`
	Sus      string     `json:"sus,omitempty"` // the suspension it waits on, or waited on last
	Deadline int64      `json:"dl,omitempty"`
	Decision string     `json:"dec,omitempty"`  // the applied decision: id, a space, digest
	Times    int        `json:"n,omitempty"`    // how often it was suspended
	Attempt  int        `json:"at,omitempty"`   // raised by each applied decision, never by a crash
	Misfits  int        `json:"bad,omitempty"`  // results of a client that were refused on this suspension, and journaled
	Ran      int        `json:"r,omitempty"`    // bodies of the call that ran before the one at hand, also those of crashed workers
	Intent   int64      `json:"ie,omitempty"`   // epoch of the open intent of an at-most-once body; 0: none
	Hold     string     `json:"hold,omitempty"` // the call it is held behind
	Approved bool       `json:"ok,omitempty"`   // a person said that it may run
	Passed   string     `json:"pass,omitempty"` // the suspension whose decision is handed to the body
	Edited   string     `json:"ed,omitempty"`   // the suspension whose decision says with which arguments it runs
	Grant    string     `json:"gr,omitempty"`   // what an approval that grants more allows
	Asked    string     `json:"ask,omitempty"`  // what its gate asked, in short; "" for a tool's own question
	Lifts    string     `json:"lift,omitempty"` // what an approval has answered: no other ask is lifted by it
	Granted  bool       `json:"gd,omitempty"`   // an approval of an earlier call says that it may run, as its gate is now
	Counted  bool       `json:"ct,omitempty"`   // let through by the budget
	Ready    int64      `json:"rdy,omitempty"`  // epoch in which the hooks before its body were called, if a commit contains what they wanted; 0: call them
	Placed   bool       `json:"pl,omitempty"`   // a placeholder stands for its result
	Pseudo   bool       `json:"ps,omitempty"`   // no model asked for it: the run itself waits
	Again    bool       `json:"ag,omitempty"`   // its body may have begun, in this attempt, in a process that was lost
	From     int64      `json:"f,omitempty"`    // the segment of its assistant turn, if that is not the current one
}

// Open says whether the run may still change.
func (h Head) Open() bool { return h.Status != RunDone }

// Clone returns a head that shares no map with h.
func (h Head) Clone() Head {
	h.Calls = cloneMap(h.Calls)
	h.Timed = cloneMap(h.Timed)
	h.Out = cloneMap(h.Out)
	h.Inbox = cloneMap(h.Inbox)
	h.Held = slices.Clone(h.Held)
	h.Grants = slices.Clone(h.Grants)
	if h.End != nil {
		end := *h.End
		h.End = &end
	}
	if h.Outage != nil {
		outage := *h.Outage
		h.Outage = &outage
	}
	return h
}

func cloneMap[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// Visible is the status that readers are shown: a run with something in its inbox is on its way, and a run that
// has ended but still owes somebody a message is running until that is sent.
func (h Head) Visible() RunStatus {
	if h.Status == RunWaiting && len(h.Inbox) > 0 {
		return RunRunning
	}
	return h.Status
}

// Claimable says whether a claim at now would be granted: the condition that every store enforces.
func (h Head) Claimable(now int64, claim string) bool {
	if h.Lease != 0 && h.Lease >= now || h.Claim == claim {
		return false
	}
	switch h.Status {
	case RunCreated, RunRunning:
		return h.NotBefore <= now || len(h.Inbox) > 0
	case RunWaiting:
		return len(h.Inbox) > 0 || h.Deadline != 0 && h.Deadline <= now
	}
	return false
}

// SuspensionID makes the id of a suspension that is committed in segment seq of a thread; random must be fresh for each. It names the
// thread, so that it is found without knowing its run.
func SuspensionID(thread string, seq int64, random string) string {
	return "sus_" + strconv.FormatInt(seq, 36) + "_" + random + "_" + strings.TrimPrefix(thread, "thr_")
}

// SuspensionThread is the thread of a suspension, or false if id does not say it.
func SuspensionThread(id string) (string, bool) {
	parts := strings.SplitN(id, "_", 4)
	if _, ok := SuspensionSeq(id); !ok || len(parts) != 4 || parts[3] == "" {
		return "", false
	}
	return ThreadID(parts[3]), true
}

// SuspensionSeq is the segment a suspension was committed in, or false if id is not a suspension's.
func SuspensionSeq(id string) (int64, bool) {
	rest, ok := strings.CutPrefix(id, "sus_")
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, "_")
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseInt(digits, 36, 64)
	return seq, err == nil && seq > 0
}

// ThreadID and RunID: a run's id carries its thread's id, so that finding it needs no index. number is unique within the thread.
func ThreadID(base string) string { return "thr_" + base }

// RunID is the id of the run of a thread that was started when the head's revision was number.
func RunID(thread string, number int64) string {
	return "run_" + strings.TrimPrefix(thread, "thr_") + "_" + strconv.FormatInt(number, 36)
}

// ThreadOf is the thread of a run, or false if run is not the id of one.
func ThreadOf(run string) (string, bool) {
	rest, ok := strings.CutPrefix(run, "run_")
	if !ok {
		return "", false
	}
	i := strings.LastIndexByte(rest, '_')
	if i <= 0 {
		return "", false
	}
	return ThreadID(rest[:i]), true
}

// Record is what remains of a run when the next one takes its place in the head, and what lists show.
type Record struct {
	Run      string          `json:"run"`
	Thread   string          `json:"thread"`
	Agent    string          `json:"agent"`
	Version  string          `json:"av"`
	Status   RunStatus       `json:"st"`
	End      *Reason         `json:"end,omitempty"`
	Response ResponseState   `json:"rs,omitempty"`
	RetryOf  string          `json:"retry_of,omitempty"`
	Metadata json.RawMessage `json:"meta,omitempty"`
	Narrow   json.RawMessage `json:"narrow,omitempty"`
	Finish   string          `json:"fin,omitempty"`
	Counters
	Round int64 `json:"round"`
	Born  int64 `json:"born"`
	At    int64 `json:"at"`
	Seq0  int64 `json:"seq0"` // the run's segments are Seq0+1 to Seq
	Seq   int64 `json:"seq"`
	Ev0   int64 `json:"ev0"`
	Ev    int64 `json:"ev"`
}

// Record is the run that the head holds now.
func (h Head) Record() Record {
	return Record{Run: h.Run, Thread: h.Thread, Agent: h.Agent, Version: h.Version, Status: h.Visible(), End: h.End,
		Response: h.Response, RetryOf: h.RetryOf, Metadata: h.Metadata, Narrow: h.Narrow, Finish: h.Finish, Counters: h.Counters, Round: h.Round,
		Born: h.Born, At: h.At, Seq0: h.Seq0, Seq: h.Seq, Ev0: h.Ev0, Ev: h.Ev}
}
