package protocols_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/internal/core"
)

var update = flag.Bool("update", false, "write the transcripts")

// transcript is what was sent and answered, with names in place of what differs each time.
type transcript struct {
	*desk
	text  strings.Builder
	names map[string]string
}

func (s *transcript) call(method, params string) task {
	s.Helper()
	return s.read(s.exchange("POST", "/a2a/"+s.agent, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
}

// read is the task of an answer, if there is one: that of a stream is its first.
func (s *transcript) read(a answered) (t task) {
	for line := range strings.Lines(a.text) {
		if data, is := strings.CutPrefix(line, "data: "); is {
			a.text = data
			break
		}
	}
	if strings.Contains(a.text, `"result"`) && !strings.Contains(a.text, `"tasks"`) {
		return s.task(a)
	}
	return t
}

func (s *transcript) exchange(method, path, body string) answered {
	s.Helper()
	fmt.Fprintf(&s.text, "> %s %s\n", method, path)
	if body != "" {
		fmt.Fprintf(&s.text, "> %s\n", s.named(body))
	}
	a := s.send(method, path, body)
	media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	fmt.Fprintf(&s.text, "< %d %s\n", a.status, media)
	for _, frame := range frames(a.text) {
		fmt.Fprintf(&s.text, "< %s\n", s.named(frame))
	}
	s.text.WriteString("\n")
	return a
}

// frames are the JSON values of an answer. How a text was cut into chunks doesn't matter.
func frames(text string) (all []string) {
	if !strings.Contains(text, "data: ") {
		return []string{string(compact([]byte(text)))}
	}
	for line := range strings.Lines(text) {
		data, is := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !is {
			continue
		}
		if before := len(all) - 1; before >= 0 && strings.Contains(data, `"append":true`) {
			data = joined(all[before], data)
			all = all[:before]
		}
		all = append(all, data)
	}
	return all
}

// joined is a chunk with what is appended to it.
func joined(chunk, more string) string {
	type update struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Result  struct {
			Artifact struct {
				Artifact map[string]any `json:"artifact"`
				Context  string         `json:"contextId"`
				Last     bool           `json:"lastChunk,omitempty"`
				Task     string         `json:"taskId"`
			} `json:"artifactUpdate"`
		} `json:"result"`
	}
	var a, b update
	_, _ = json.Unmarshal([]byte(chunk), &a), json.Unmarshal([]byte(more), &b)
	part := func(u update) map[string]any { return u.Result.Artifact.Artifact["parts"].([]any)[0].(map[string]any) }
	part(a)["text"] = fmt.Sprint(part(a)["text"], part(b)["text"])
	a.Result.Artifact.Last = b.Result.Artifact.Last
	return string(core.Encode(a))
}

// What differs each time, and what it is called.
var varying = []struct {
	is   *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`sus_[0-9a-z]+_[a-z2-7]+_[a-z2-7]{24,}`), "QUESTION"},
	{regexp.MustCompile(`ask_[0-9a-f]{24}`), "ASK"},
	{regexp.MustCompile(`v1:[0-9a-f]{64}`), "FINGERPRINT"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "VERSION"},
	{regexp.MustCompile(`[a-z2-7]{24,}`), "THREAD"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST"},
	{regexp.MustCompile(`dec_[0-9a-z]+`), "DECISION"},
}

// named names each value by its first appearance, except for times.
func (s *transcript) named(text string) string {
	for _, v := range varying {
		text = v.is.ReplaceAllStringFunc(text, func(value string) string {
			if v.name == "TIME" {
				return v.name
			}
			if s.names[value] == "" {
				n := 1
				for _, name := range s.names {
					if strings.HasPrefix(name, v.name) {
						n++
					}
				}
				s.names[value] = fmt.Sprintf("%s%d", v.name, n)
			}
			return s.names[value]
		})
	}
	return text
}

// stories are what clients do; each is one transcript.
var stories = map[string]func(s *transcript){
	"card":          func(s *transcript) { s.exchange("GET", "/a2a/desk/.well-known/agent-card.json", "") },
	"no_root_card":  func(s *transcript) { s.exchange("GET", "/.well-known/agent-card.json", "") },
	"unknown_agent": func(s *transcript) { s.at("nobody").transcribed(s).call("SendMessage", says("m1", "hello", "")) },
	"hello":         func(s *transcript) { s.call("SendMessage", says("m1", "hello", "")) },
	"stream":        func(s *transcript) { s.call("SendStreamingMessage", says("m1", "hello", "")) },
	"files": func(s *transcript) {
		t := s.call("SendMessage", message("m1", `{"text":"hello"},{"raw":"bm90IGFuIGltYWdl","mediaType":"image/png"},{"raw":"bm90IGEgcGRm","mediaType":"application/pdf","filename":"order.pdf"}`, ""))
		s.call("GetTask", `{"id":"`+t.ID+`"}`)
		s.call("ListTasks", `{"historyLength":5}`)
		t = s.call("SendStreamingMessage", message("m2", `{"raw":"bm90IGFuIGltYWdl","mediaType":"image/png"},{"text":"pay 50"}`, ""))
		t = s.call("GetTask", `{"id":"`+t.ID+`","historyLength":0}`)
		s.call("SendStreamingMessage", answers("m3", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","approved":true}`))
	},
	"approved": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pay 50", ""))
		q := t.asks()[0]
		s.call("SendMessage", answers("m2", t.ID, `{"decisionId":"`+q.ID+`","approved":true,"fingerprint":"`+q.Fingerprint+`"}`))
	},
	"approved_in_a_stream": func(s *transcript) {
		t := s.call("SendStreamingMessage", says("m1", "pay 50", ""))
		t = s.call("GetTask", `{"id":"`+t.ID+`","historyLength":1}`)
		s.call("SendStreamingMessage", answers("m2", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","approved":true}`))
	},
	"edited": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pay 50", ""))
		s.call("SendMessage", answers("m2", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","approved":true,"arguments":{"amount":20,"to":"Eve"}}`))
	},
	"denied": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pay 50", ""))
		s.call("SendMessage", message("m2", `{"text":"too much"},{"data":{"decisionId":"`+t.asks()[0].ID+`","approved":false}}`, `,"taskId":"`+t.ID+`"`))
	},
	"denied_by_rule": func(s *transcript) { s.call("SendMessage", says("m1", "pay 5000", "")) },
	"two_questions": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pay 50 twice", ""))
		s.call("SendMessage", answers("m2", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","approved":true}`))
		s.call("SendMessage", answers("m3", t.ID, `{"decisionId":"`+t.asks()[1].ID+`","approved":false}`))
	},
	"client_tool": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pick", ""))
		s.call("SendMessage", answers("m2", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","result":{"picked":7}}`))
		s.call("SendMessage", answers("m3", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","result":{"picked":"red"}}`))
	},
	"client_tool_fails": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pick", ""))
		s.call("SendMessage", answers("m2", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","error":"no one is there"}`))
	},
	"text_answers": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "color", ""))
		s.call("SendStreamingMessage", says("m2", "green", `,"taskId":"`+t.ID+`","contextId":"`+t.ContextID+`"`))
	},
	"text_never_approves": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pay 50 and ask", ""))
		s.call("SendMessage", says("m2", "yes", `,"taskId":"`+t.ID+`"`))
	},
	"cancelled": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pay 50", ""))
		s.call("CancelTask", `{"id":"`+t.ID+`"}`)
		s.call("CancelTask", `{"id":"`+t.ID+`"}`)
	},
	"failed":  func(s *transcript) { s.call("SendMessage", says("m1", "what no turn is for", "")) },
	"stopped": func(s *transcript) { s.call("SendStreamingMessage", says("m1", "stop", "")) },
	"blocked": func(s *transcript) { s.call("SendMessage", says("m1", "forbidden", "")) },
	"ended": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "hello", ""))
		s.call("SendMessage", says("m2", "hello", `,"taskId":"`+t.ID+`"`))
		s.call("CancelTask", `{"id":"`+t.ID+`"}`)
		s.call("SubscribeToTask", `{"id":"`+t.ID+`"}`)
	},
	"context": func(s *transcript) {
		s.call("SendMessage", says("m1", "hello", `,"contextId":"my-context"`))
		s.call("SendMessage", says("m2", "pay 50", `,"contextId":"my-context"`))
		s.call("SendMessage", says("m3", "hello", `,"contextId":"my-context"`))
		s.call("ListTasks", `{"contextId":"my-context","includeArtifacts":true}`)
		s.call("ListTasks", `{"status":"TASK_STATE_INPUT_REQUIRED","historyLength":1}`)
		s.call("ListTasks", `{"contextId":"another"}`)
	},
	"subscribed": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "pay 50", ""))
		_, err := s.api().Decide(s.Context(), t.ID, client.Decision{Target: t.asks()[0].ID, Action: "resume"})
		if err != nil {
			s.Fatal(err)
		}
		t = s.call("SendMessage", says("m2", "pick", ""))
		s.call("CancelTask", `{"id":"`+t.ID+`"}`)
	},
	"agent_below": func(s *transcript) {
		boss := s.at("boss").transcribed(s)
		t := boss.call("SendMessage", says("m1", "pay 50", ""))
		boss.call("SendMessage", answers("m2", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","approved":true}`))
	},
	"agent_below_in_a_stream": func(s *transcript) {
		boss := s.at("boss").transcribed(s)
		t := boss.call("SendStreamingMessage", says("m1", "pay 50", ""))
		t = boss.call("GetTask", `{"id":"`+t.ID+`","historyLength":0}`)
		boss.call("SendStreamingMessage", answers("m2", t.ID, `{"decisionId":"`+t.asks()[0].ID+`","approved":true}`))
	},
	"not_done_here": func(s *transcript) {
		t := s.call("SendMessage", says("m1", "hello", ""))
		s.call("CreateTaskPushNotificationConfig", `{"taskId":"`+t.ID+`","url":"http://example.com"}`)
		s.call("SendMessage", `{"message":{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"hello"}]},"configuration":{"taskPushNotificationConfig":{"url":"http://example.com"}}}`)
		s.call("GetExtendedAgentCard", `{}`)
		s.call("message/send", `{}`)
		s.call("Unknown", `{}`)
		s.call("SendMessage", message("m3", `{"url":"https://example.com/a.png","mediaType":"image/png"}`, ""))
		s.call("SendMessage", message("m4", `{"raw":"AAAA","mediaType":"video/mp4"}`, ""))
	},
	"malformed": func(s *transcript) {
		s.exchange("POST", "/a2a/desk", `{"jsonrpc":"2.0",`)
		s.exchange("POST", "/a2a/desk", `[]`)
		s.exchange("POST", "/a2a/desk", `{"jsonrpc":"2.0","id":{},"method":"SendStreamingMessage","params":`+says("m1", "hello", "")+`}`)
		s.exchange("POST", "/a2a/desk", `{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{}}`)
		s.call("SendMessage", `{}`)
		s.call("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}`)
		s.call("SendStreamingMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[]}}`)
		s.call("SendMessage", `{"message":{"role":"ROLE_USER","parts":[{"text":"hello"}]}}`)
		s.call("ListTasks", `{"pageSize":1000}`)
		s.call("GetTask", `{"id":"run_a_0","historyLength":-1}`)
	},
}

// transcribed writes what is exchanged here into the transcript of another.
func (d *desk) transcribed(s *transcript) *transcriptAt { return &transcriptAt{d, s} }

type transcriptAt struct {
	*desk
	into *transcript
}

func (s *transcriptAt) call(method, params string) task {
	s.Helper()
	a := s.into.exchange("POST", "/a2a/"+s.agent, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	return s.into.read(a)
}

func TestA2ATranscripts(t *testing.T) {
	names := make([]string, 0, len(stories))
	for name := range stories {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &transcript{desk: newDesk(t), names: map[string]string{}}
			stories[name](s)
			file := filepath.Join("testdata", "a2a", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(s.text.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil || s.text.String() != string(want) {
				t.Errorf("%s differs (%v); -update writes it. It is now\n%s", file, err, &s.text)
			}
		})
	}
}
