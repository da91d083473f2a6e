// Package slackdouble is a double of Slack: of the API that a Slack app calls, with what Slack
// checks of its arguments, and of the members who press buttons. It signs what it sends as Slack
// does.
package slackdouble

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// The workspace, its channel and the app's secrets.
const (
	Team    = "T0ACME"
	Channel = "C0DESK"
	Token   = "xoxb-1-not-a-real-token"
	Key     = "8f742231b10e8888abcd99yyyzzz85a5"
)

// Message is a message of the app in the channel, as it is now.
type Message struct {
	TS, Text string
	Thread   string          // the message that it replies to
	Raw      json.RawMessage // the arguments of the last call that wrote it
	Changes  int
}

// Dialog is a view that the app opened.
type Dialog struct {
	User string
	View View
}

// Whisper is what one member alone was shown.
type Whisper struct {
	User, Text string
	Raw        json.RawMessage // the arguments of the call
}

// Slack is the double. It is safe for concurrent use.
type Slack struct {
	*httptest.Server
	Now func() time.Time

	mu       sync.Mutex
	moved    *sync.Cond
	messages []*Message
	dialogs  []Dialog
	whispers []Whisper
	triggers map[string]trigger
	faults   []string // what was wrong with calls
	failing  []func(http.ResponseWriter)
	count    int
}

type trigger struct {
	user string
	made time.Time
}

// New starts a double, which its caller closes.
func New() *Slack {
	s := &Slack{Now: time.Now, triggers: map[string]trigger{}}
	s.moved = sync.NewCond(&s.mu)
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// API is the address of the double's API.
func (s *Slack) API() string { return s.URL + "/api" }

// FailNext makes the next call of the API fail: with a status, or an error of Slack.
func (s *Slack) FailNext(status int, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = append(s.failing, func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error": code})
	})
}

// LoseNext makes the next call take effect, and loses its answer.
func (s *Slack) LoseNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = append(s.failing, nil)
}

func (s *Slack) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.moved.Broadcast()
	lose := false
	if len(s.failing) > 0 {
		fail := s.failing[0]
		s.failing = s.failing[1:]
		if fail != nil {
			fail(w)
			return
		}
		lose = true
	}
	answer := map[string]any{"ok": true}
	if code := s.call(strings.TrimPrefix(r.URL.Path, "/api/"), r.Header, body, answer); code != "" {
		answer = map[string]any{"ok": false, "error": code}
		s.faults = append(s.faults, fmt.Sprintf("%s: %s: %s", r.URL.Path, code, body))
	}
	if lose {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(answer)
}

type arguments struct {
	Channel string            `json:"channel"`
	TS      string            `json:"ts"`
	Thread  string            `json:"thread_ts"`
	Text    string            `json:"text"`
	User    string            `json:"user"`
	Trigger string            `json:"trigger_id"`
	View    View              `json:"view"`
	Blocks  []json.RawMessage `json:"blocks"`
}

// call does what a method does, and returns Slack's code for what it refuses.
func (s *Slack) call(method string, h http.Header, body []byte, answer map[string]any) string {
	var a arguments
	switch {
	case h.Get("Authorization") == "":
		return "not_authed"
	case h.Get("Authorization") != "Bearer "+Token:
		return "invalid_auth"
	case h.Get("Content-Type") != "application/json; charset=utf-8":
		return "missing_charset"
	case json.Unmarshal(body, &a) != nil:
		return "invalid_json"
	case method == "views.open":
		return s.open(a)
	case a.Channel != Channel:
		return "channel_not_found"
	case a.Text == "" && len(a.Blocks) == 0:
		return "no_text"
	case len(a.Text) > 40000:
		return "msg_too_long"
	}
	if code := checkBlocks(a.Blocks); code != "" {
		return code
	}
	answer["channel"] = Channel
	switch method {
	case "chat.postMessage":
		if a.Thread != "" && s.find(a.Thread) == nil {
			return "thread_not_found"
		}
		s.count++
		m := &Message{TS: fmt.Sprintf("1700000000.%06d", s.count), Text: a.Text, Thread: a.Thread, Raw: body}
		s.messages = append(s.messages, m)
		answer["ts"] = m.TS
	case "chat.update":
		m := s.find(a.TS)
		if m == nil {
			return "message_not_found"
		}
		m.Text, m.Raw, m.Changes = a.Text, body, m.Changes+1
		answer["ts"] = m.TS
	case "chat.postEphemeral":
		if a.User == "" {
			return "user_not_in_channel"
		}
		s.whispers = append(s.whispers, Whisper{a.User, a.Text, body})
	default:
		return "unknown_method"
	}
	return ""
}

// open is views.open. A trigger works once, within three seconds.
func (s *Slack) open(a arguments) string {
	t, known := s.triggers[a.Trigger]
	switch {
	case a.Trigger == "":
		return "invalid_arguments"
	case !known:
		return "exchanged_trigger_id"
	case s.Now().Sub(t.made) > 3*time.Second:
		return "expired_trigger_id"
	}
	if code := a.View.check(); code != "" {
		return code
	}
	delete(s.triggers, a.Trigger)
	s.dialogs = append(s.dialogs, Dialog{t.user, a.View})
	return ""
}

func (s *Slack) find(ts string) *Message {
	for _, m := range s.messages {
		if m.TS == ts {
			return m
		}
	}
	return nil
}

// Copy posts a message again, unseen by the app.
func (s *Slack) Copy(m Message) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	m.TS = fmt.Sprintf("1700000000.%06d", s.count)
	s.messages = append(s.messages, &m)
	return m
}

// State is what the channel shows.
type State struct {
	Messages []Message
	Dialogs  []Dialog
	Whispers []Whisper
	Faults   []string
}

// Await returns the state once it is as wanted; false if that takes half a minute.
func (s *Slack) Await(wanted func(State) bool) (State, bool) {
	end := time.Now().Add(30 * time.Second)
	stop := time.AfterFunc(time.Until(end), s.moved.Broadcast)
	defer stop.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		now := State{Dialogs: append([]Dialog{}, s.dialogs...), Whispers: append([]Whisper{}, s.whispers...), Faults: append([]string{}, s.faults...)}
		for _, m := range s.messages {
			now.Messages = append(now.Messages, *m)
		}
		if wanted(now) {
			return now, true
		}
		if !time.Now().Before(end) {
			return now, false
		}
		s.moved.Wait()
	}
}

// State is what the channel shows now.
func (s *Slack) State() State {
	now, _ := s.Await(func(State) bool { return true })
	return now
}

// Trigger is a new trigger of a member's press.
func (s *Slack) Trigger(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	id := fmt.Sprintf("%d.%s.x", s.count, Team)
	s.triggers[id] = trigger{user, s.Now()}
	return id
}

// Sign returns the headers of a request from Slack.
func Sign(key string, at time.Time, body string) http.Header {
	timestamp := fmt.Sprint(at.Unix())
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(mac, "v0:"+timestamp+":"+body)
	h := http.Header{}
	h.Set("X-Slack-Request-Timestamp", timestamp)
	h.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	return h
}
