package narrate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

var began = time.Date(2026, 11, 21, 2, 28, 44, 0, time.UTC)

// TestALineOfADecisionSaysWhoDecided holds the lines of watch for programs and of all runs.
func TestALineOfADecisionSaysWhoDecided(t *testing.T) {
	for name, tt := range map[string]struct{ event, want string }{
		"a decision": {`decision.recorded {"call_id":"c1","action":"resume","by":"token:ben"}`, "c1  resume  by token:ben"},
		"no name":    {`decision.recorded {"call_id":"c1","action":"resume"}`, "c1  resume"},
		"a vote":     {`decision.recorded {"call_id":"c1","action":"resume","by":"token:ben","vote":{"yes":1,"need":2}}`, "c1  resume  by token:ben  vote 1 of 2"},
		"refused":    {`decision.refused {"call_id":"c1","code":"not_an_approver","by":"token:eve"}`, "c1  not_an_approver  by token:eve"},
		"a deadline": {`decision.recorded {"call_id":"c1","action":"cancel","by":"deadline","timed_out":true}`, "by the deadline  c1  cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			kind, data, _ := strings.Cut(tt.event, " ")
			if got := Describe(wire.Event{Type: kind, Data: json.RawMessage(data)}); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestEventsInWords(t *testing.T) {
	const ready = `call.ready {"call_id":"c1","tool_name":"pay","arguments":{"order":"A-17","amount":120}}`
	for name, tt := range map[string]struct {
		events []string // type and data; the last one is told
		want   []string
	}{
		"a call":                   {[]string{ready}, []string{"asks for pay order=A-17 amount=120"}},
		"a call that does not fit": {[]string{`call.invalid {"call_id":"c1","tool_name":"pay","detail":"amount\nmissing"}`}, []string{"called pay with invalid arguments: amount missing"}},
		"a body":                   {[]string{ready, `call.started {"call_id":"c1"}`}, []string{"runs pay"}},
		"a result":                 {[]string{ready, `call.succeeded {"call_id":"c1","result":"paid\u001b[2J"}`}, []string{`pay returns paid\x1b[2J`}},
		"a failure":                {[]string{ready, `call.failed {"call_id":"c1","result":"no money"}`}, []string{"pay failed: no money"}},
		"a call that was closed":   {[]string{ready, `call.cancelled {"call_id":"c1","result":"Not approved"}`}, []string{"pay was not run: Not approved"}},
		"a wait with a deadline": {[]string{`call.suspended {"call_id":"c1","tool_name":"pay","kind":"approval","deadline":"2026-11-21T05:48:44.000Z","suspension":{"id":"s","message":"Above 100."}}`},
			[]string{"waits for approval of pay since 02:28, deadline in 1h 20m", "Above 100."}},
		"a wait for a client": {[]string{`call.suspended {"call_id":"c1","tool_name":"locate","kind":"client","deadline":"1970-01-01T00:00:00.001Z"}`},
			[]string{"waits for the client's result of locate since 02:28, its deadline was 1970-01-01 00:00:00Z"}},
		"a child": {[]string{ready, `call.suspended {"call_id":"c1","tool_name":"pay","kind":"child","deadline":"2026-11-21T05:48:44.000Z"}`,
			`child.started {"call_id":"c1","tool_name":"pay","agent":"payer","child_run_id":"run_b_0"}`}, []string{"pay starts payer as run_b_0, deadline in 1h 20m"}},
		"a wait for a child":        {[]string{ready, `call.suspended {"call_id":"c1","tool_name":"pay","kind":"child"}`}, nil},
		"a child that ended":        {[]string{ready, `child.ended {"call_id":"c1","child_run_id":"run_b_0","outcome":"succeeded","applied":true}`}, nil},
		"a child that ended late":   {[]string{ready, `child.ended {"call_id":"c1","child_run_id":"run_b_0","outcome":"child_cancelled","applied":false}`}, []string{"the run of pay ended (child_cancelled), but its call no longer waited"}},
		"a child elsewhere":         {[]string{ready, `child.started {"call_id":"c1","tool_name":"pay","agent":"pay","child_run_id":"run_b_0","remote":true}`}, []string{"pay calls a remote agent, as run_b_0"}},
		"a task elsewhere":          {[]string{`remote.started {"task_id":"task-7\u001b[2J","url":"https://agents.example.com/rpc","pushes":false}`}, []string{`the remote agent works on the task task-7<U+001B>[2J at https://agents.example.com/rpc`}},
		"a task that is done":       {[]string{`remote.ended {"task_id":"task-7","outcome":"succeeded","result":"Found."}`}, []string{"the remote agent returns Found."}},
		"a task that failed":        {[]string{`remote.ended {"task_id":"task-7","outcome":"failed","code":"remote_failed","detail":"no\nluck"}`}, []string{"the remote agent failed: remote_failed no luck"}},
		"a task that is stopped":    {[]string{`remote.ended {"task_id":"task-7","outcome":"stopped","attempts":2}`}, []string{"the remote agent stopped, because the run had ended"}},
		"a task that may go on":     {[]string{`remote.ended {"task_id":"task-7","outcome":"unconfirmed","attempts":100}`}, []string{"the run had ended, but the remote agent did not confirm that it stopped; it is not asked again after 100 attempts"}},
		"a wait for children alone": {[]string{`activation.ended {"outcome":"suspended_awaiting_children"}`, `run.status {"status":"waiting"}`}, []string{"suspended until a run that it started ends"}},
		"a wait for a person":       {[]string{`activation.ended {"outcome":"suspended_awaiting_children"}`, `activation.ended {"outcome":"suspended_approval"}`, `run.status {"status":"waiting"}`}, []string{"suspended until a decision arrives"}},
		"a pause":                   {[]string{`call.suspended {"call_id":"c1","kind":"interrupt"}`}, []string{"waits for a resume since 02:28"}},
		"a yes":                     {[]string{`decision.recorded {"call_id":"c1","action":"resume","by":"anna","applied":true}`}, []string{"approved by anna"}},
		"a yes for more":            {[]string{`decision.recorded {"call_id":"c1","action":"resume","grant":"run"}`}, []string{"approved, including similar calls in this turn"}},
		"a no":                      {[]string{`decision.recorded {"call_id":"c1","action":"cancel","by":"anna","reason":"no  damage"}`}, []string{"denied by anna: no damage"}},
		"a result by a person":      {[]string{`decision.recorded {"call_id":"c1","action":"resume","result":{"t":21}}`}, []string{`answered: {"t":21}`}},
		"an error by a person":      {[]string{`decision.recorded {"call_id":"c1","action":"resume","error":"gone"}`}, []string{"answered with an error: gone"}},
		"no one in time":            {[]string{`decision.recorded {"call_id":"c1","action":"cancel","timed_out":true}`}, []string{"timed out: no decision before the deadline"}},
		"silence that approves":     {[]string{`decision.recorded {"call_id":"c1","action":"resume","timed_out":true,"silent":true}`}, []string{"approved: no one answered in time, and the policy approves then"}},
		"a reminder":                {[]string{ready, `call.reminded {"call_id":"c1"}`}, []string{"pay still waits: its people are reminded"}},
		"an escalation":             {[]string{ready, `call.escalated {"call_id":"c1","group":"office"}`}, []string{"pay still waits: now the group office is asked"}},
		"a deadline near":           {[]string{ready, `call.deadline_near {"call_id":"c1"}`}, []string{"pay still waits, and its deadline is near"}},
		"a vote":                    {[]string{`decision.recorded {"call_id":"c1","action":"resume","by":"token:ben","applied":false,"vote":{"yes":1,"need":2,"stage":1,"stages":1,"outcome":"counted"}}`}, []string{"approved by token:ben, vote 1 of 2"}},
		"a vote of a stage":         {[]string{`decision.recorded {"call_id":"c1","action":"resume","by":"token:ben","applied":false,"vote":{"yes":2,"need":2,"stage":1,"stages":2,"outcome":"passed"}}`}, []string{"approved by token:ben, vote 2 of 2, stage 1 of 2"}},
		"a vote against it":         {[]string{`decision.recorded {"call_id":"c1","action":"cancel","by":"token:cy","reason":"why?","vote":{"yes":1,"no":1,"need":2,"stage":1,"stages":1,"outcome":"counted"}}`}, []string{"denied by token:cy, 1 of 2 approved, 1 denied: why?"}},
		"a vote in vain":            {[]string{`decision.recorded {"call_id":"c1","action":"resume","by":"token:ben","applied":false,"vote":{"outcome":"superseded"}}`}, []string{"approved by token:ben, no effect: the question was closed first"}},
		"who may not decide":        {[]string{`decision.refused {"call_id":"c1","code":"not_an_approver","by":"token:eve","via":"api"}`}, []string{"a decision by token:eve was refused: not_an_approver"}},
		"too late":                  {[]string{`decision.recorded {"call_id":"c1","action":"resume","by":"bob","late":true}`}, []string{"approved by bob, too late to take effect"}},
		"overtaken by a cancel":     {[]string{`decision.recorded {"call_id":"c1","action":"resume","applied":false}`}, []string{"approved, no effect: the run was cancelled first"}},
		"other arguments": {[]string{ready, `decision.recorded {"call_id":"c1","action":"resume","arguments":{"order":"A-17","amount":80}}`},
			[]string{"approved", "with edited arguments:", "- amount: 120", "+ amount: 80"}},
		"text":                      {[]string{`text.ended {"text":"one\napproved by anna\u202e"}`}, []string{"says: one", `      approved by anna\u202e`}},
		"the end":                   {[]string{`turn.ended {"status":"done","reason":"natural_end"}`, `run.status {"status":"done","done_reason":"natural_end"}`}, []string{"done (natural_end)"}},
		"an end by a rule":          {[]string{`turn.ended {"reason":"stopped","code":"max_rounds","detail":"20 rounds"}`, `run.status {"status":"done","done_reason":"stopped"}`}, []string{"done (stopped max_rounds): 20 rounds"}},
		"sleep":                     {[]string{`run.status {"status":"waiting"}`}, []string{"suspended until a decision arrives"}},
		"state":                     {[]string{`state.delta {"ops":[{"key":"seen"},{"key":"n"}]}`}, []string{"state changed: seen, n"}},
		"a model that is busy":      {[]string{`step.reset {"reason":"model_unavailable","text":"too many requests"}`}, []string{"the model didn't answer: too many requests"}},
		"a model that is down":      {[]string{`step.reset {"reason":"model_unavailable","text":"nobody listens","try_at":"2026-11-21T04:29:24.000Z"}`}, []string{"the model didn't answer: nobody listens; next attempt in 40 s"}},
		"others first":              {[]string{`step.reset {"reason":"yielded","text":"half"}`}, []string{"yields to other runs; the model will be asked again"}},
		"what is new":               {[]string{`moon.rose {"detail":"full"}`}, []string{"moon.rose  full"}},
		"no object":                 {[]string{`call.ready [1]`}, []string{"call.ready "}},
		"what is for programs only": {[]string{`step.ended {}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tale := NewTale(func() time.Time { return began.Add(2 * time.Hour) })
			var got []string
			for _, e := range tt.events {
				kind, data, _ := strings.Cut(e, " ")
				got = nil
				for _, l := range tale.Tell(wire.Event{Type: kind, Turn: 2, At: wire.Time{Time: began}, Data: json.RawMessage(data)}) {
					got = append(got, l.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}
