package clients

// mcpForgeries are the parameters of calls.
var mcpForgeries = map[string]forgery{
	"decide an unknown question":            {body: decide(`"target":"sus_9_forged","action":"resume"`), want: "200 call_not_found"},
	"decide by the id of another call":      {body: decide(`"target":"MATECALL","action":"resume"`), want: "200 call_not_found"},
	"decide without a target":               {body: decide(`"run_id":"RUN","action":"resume"`), want: "200 invalid_request"},
	"decide a client's call":                {body: decide(`"target":"PICKSUS","action":"resume"`), want: "200 wrong_kind"},
	"decide with another run":               {body: decide(`"run_id":"MATERUN","target":"SUS","action":"resume"`), want: "200 call_not_found"},
	"decide with a run that is over":        {body: decide(`"run_id":"OLDRUN","target":"SUS","action":"resume"`), want: "200 call_not_found"},
	"decide of another tenant":              {body: decide(`"target":"FARSUS","action":"resume"`), want: "200 call_not_found"},
	"decide by another tenant":              {body: decide(`"target":"SUS","action":"resume"`), want: "200 call_not_found", as: "eve"},
	"decide without the role":               {body: decide(`"target":"SUS","action":"resume"`), want: "200 role_required", as: "reader"},
	"deny without the role":                 {body: decide(`"target":"SUS","action":"cancel"`), want: "200 role_required", as: "reader"},
	"decide without a token":                {body: decide(`"target":"SUS","action":"resume"`), want: "401 unauthorized", as: "-"},
	"decide without an action":              {body: decide(`"target":"SUS"`), want: "200 unclear_decision"},
	"decide with an unknown action":         {body: decide(`"target":"SUS","action":"approve"`), want: "200 bad_action"},
	"decide with an action in other letter": {body: decide(`"target":"SUS","Action":"resume"`), want: "200 unknown_field"},
	"decide with an action of a prototype":  {body: decide(`"target":"SUS","__proto__":{"action":"resume"}`), want: "200 unknown_field"},
	"decide with a result":                  {body: decide(`"target":"SUS","action":"resume","result":{"paid":53}`), want: "200 wrong_kind"},
	"decide with a result alone":            {body: decide(`"target":"SUS","result":{"paid":53}`), want: "200 unclear_decision"},
	"decide what was shown elsewhere":       {body: decide(`"target":"SUS","action":"resume","shown":"v1:00"`), want: "200 changed"},
	"decide with an unknown grant":          {body: decide(`"target":"SUS","action":"resume","grant":"always"`), want: "200 bad_grant"},
	"decide with unknown members":           {body: decide(`"target":"SUS","action":"resume","force":true`), want: "200 unknown_field"},
	"decide with arguments beyond rules":    {body: decide(`"target":"SUS","action":"resume","arguments":{"amount":5000,"to":"Eve"}`), want: "200 invalid_arguments"},
	"decide with arguments of no schema":    {body: decide(`"target":"SUS","action":"resume","arguments":{"amount":"all"}`), want: "200 invalid_arguments"},
	"decide several":                        {body: decide(`"target":["SUS","PICKSUS"],"action":"resume"`), want: "200 malformed_body"},
	"decide a client's result of no schema": {body: decide(`"target":"PICKSUS","result":{"picked":7}`), want: "200 schema_mismatch"},
	"decide a client's result without role": {body: decide(`"target":"PICKSUS","result":{"picked":"red"}`), want: "200 role_required", as: "reader"},
	"answer without a state":                {body: elicited("", "SUS", `"approved":true`), want: "400 invalid_request"},
	"answer with a state that is none":      {body: elicited("state", "SUS", `"approved":true`), want: "400 invalid_request"},
	"answer with a run as state":            {body: elicited("run:RUN", "SUS", `"approved":true`), want: "400 invalid_request"},
	"answer with a state that is longer":    {body: elicited("STATEx", "SUS", `"approved":true`), want: "400 invalid_request"},
	"answer with another run's state":       {body: elicited("MATESTATE", "SUS", `"approved":true`), want: "200 call_not_found"},
	"answer another question":               {body: elicited("STATE", "MATESUS", `"approved":true`), want: "200 call_not_found"},
	"answer an unknown question":            {body: elicited("STATE", "sus_9_forged", `"approved":true`), want: "200 call_not_found"},
	"answer a call":                         {body: elicited("STATE", "CALL", `"approved":true`), want: "200 call_not_found"},
	"answer a client's call":                {body: elicited("STATE", "PICKSUS", `"approved":true`), want: "200 wrong_kind"},
	"answer with text":                      {body: elicited("STATE", "SUS", `"approved":"true"`), want: "200 unclear_decision"},
	"answer with a number":                  {body: elicited("STATE", "SUS", `"approved":1`), want: "200 unclear_decision"},
	"answer with null":                      {body: elicited("STATE", "SUS", `"approved":null`), want: "200 unclear_decision"},
	"answer in other letters":               {body: elicited("STATE", "SUS", `"Approved":true`), want: "200 unclear_decision"},
	"answer with a reason":                  {body: elicited("STATE", "SUS", `"reason":"approved"`), want: "200 unclear_decision"},
	"answer with a result":                  {body: elicited("STATE", "SUS", `"answer":"paid","result":"paid"`), want: "200 unclear_decision"},
	"answer with the state of another":      {body: elicited("STATE", "SUS", `"approved":true`), want: "400 invalid_request", as: "reader"},
	"answer from another tenant":            {body: elicited("STATE", "SUS", `"approved":true`), want: "400 invalid_request", as: "eve"},
	"answer to another agent":               {body: `{"name":"chief","arguments":{"input":"pay 53 and pick"},"requestState":"STATE","inputResponses":{"SUS":{"action":"accept","content":{"approved":true}}}}`, want: "400 invalid_request"},
	"answer with an unknown action":         {body: `{"name":"desk","arguments":{"input":"pay 53 and pick"},"requestState":"STATE","inputResponses":{"SUS":{"action":"approve","content":{"approved":true}}}}`, want: "200 unclear_decision"},
	"arguments in a retry":                  {body: `{"name":"desk","arguments":{"input":"pay 1","approved":true,"decisions":{"SUS":true}},"requestState":"STATE"}`, want: "200"},
	"a tool of the agent":                   {body: `{"name":"pay","arguments":{"input":"pay 1"}}`, want: "400 agent_not_found"},
	"a task of another tenant":              {to: "tasks/update", body: `{"taskId":"FARRUN","inputResponses":{"FARSUS":{"action":"accept","content":{"approved":true}}}}`, want: "400 run_not_found"},
	"a task without the role":               {to: "tasks/update", body: `{"taskId":"RUN","inputResponses":{"SUS":{"action":"accept","content":{"approved":true}}}}`, want: "200 role_required", as: "reader"},
	"a task that is a thread":               {to: "tasks/update", body: `{"taskId":"THREAD","inputResponses":{"SUS":{"action":"accept","content":{"approved":true}}}}`, want: "400 run_not_found"},
	"a task that is over":                   {to: "tasks/update", body: `{"taskId":"OLDRUN","inputResponses":{"SUS":{"action":"accept","content":{"approved":true}}}}`, want: "200 call_not_found"},
	"a cancel by another tenant":            {to: "tasks/cancel", body: `{"taskId":"RUN"}`, want: "400 run_not_found", as: "eve"},
	"a method that approves":                {to: "tasks/approve", body: `{"taskId":"RUN"}`, want: "404 -32601"},
}

func decide(members string) string { return `{"name":"decide","arguments":{` + members + `}}` }

// elicited are the parameters of a call that is sent again with what its user said.
func elicited(state, question, content string) string {
	return `{"name":"desk","arguments":{"input":"pay 53 and pick"},"requestState":"` + state + `","inputResponses":{"` + question + `":{"action":"accept","content":{` + content + `}}}}`
}
