package hookfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/core/lazyregexp"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/secret/signature"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

// File is a hook file as it was read: the hook in it, or what is wrong with it.
type File struct {
	Path, Name string
	Text       []byte
	Hook       Hook  // zero with an Err
	Err        error // joins all problems, each as "FILE:LINE: what is wrong; what to do"
}

// Load reads the hook files of a directory of agents, by name: every *.yaml and *.yml file in its
// folder hooks. A directory without the folder has none. The error is that of the folder.
func Load(dir string) ([]File, error) {
	folder := filepath.Join(dir, Folder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []File
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || ext != ".yaml" && ext != ".yml" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		f := File{Path: filepath.Join(folder, e.Name()), Name: strings.TrimSuffix(e.Name(), ext)}
		if f.Text, f.Err = os.ReadFile(f.Path); f.Err == nil {
			f.Hook, f.Err = Parse(f.Path, f.Text)
		}
		if twice := slices.IndexFunc(files, func(other File) bool { return other.Name == f.Name }); twice >= 0 && f.Err == nil {
			f.Hook, f.Err = Hook{}, refused(f.Path, "the hook %q is also in %s; remove one of the files", f.Name, files[twice].Path)
		}
		files = append(files, f)
	}
	return files, nil
}

func refused(path, format string, args ...any) error {
	r := &strictyaml.Reader{File: path}
	r.RefuseLine(1, format, args...)
	return agentfile.Errors(r)
}

// Parse reads one hook, whose name is that of the file without its directory and ending. The error
// is as in [File].
func Parse(path string, text []byte) (Hook, error) {
	s := source{&strictyaml.Reader{File: path}}
	h := s.hook(text)
	if err := agentfile.Errors(s.Reader); err != nil {
		return Hook{}, err
	}
	return h, nil
}

type source struct{ *strictyaml.Reader }

func (s source) hook(text []byte) (h Hook) {
	base := filepath.Base(s.File)
	h.Name = strings.TrimSuffix(base, filepath.Ext(base))
	root := s.Document(text)
	if root == nil {
		return h
	}
	o, ok := s.Object(root, "a hook")
	if !ok {
		return h
	}
	defer o.Close()
	if !NameForm.MatchString(h.Name) {
		s.Refuse(root, "%q is not a valid hook name; rename the file: use a-z, 0-9, - and _, at most 63, beginning with a letter or digit", h.Name)
	}
	h.Tenant = o.Text("tenant")
	if h.Tenant != "" {
		if err := access.CheckTenant(h.Tenant); err != nil {
			s.Refuse(o.Member("tenant"), "%v", err)
		}
	}
	h.Verify = s.verify(root, o.Take("verify"))
	h.When = agentfile.Conditions(s.Reader, o.Take("when"))
	h.By = s.path(o, "by")
	h.ID = s.origin(o.Take("id"))
	h.Agents = s.names(o)
	h.Start, h.Message, h.Decision = s.start(o.Take("start")), s.message(o.Take("message")), s.decision(o.Take("decision"))
	h.SlackApp = s.slackApp(o, h)
	acts := 0
	for _, name := range []string{"start", "message", "decision", "slack_app"} {
		if o.Member(name) != nil {
			acts++
		}
	}
	if acts != 1 {
		s.Refuse(root, "a hook needs exactly one of start, message, decision and slack_app")
	}
	if h.Agents != nil && h.Start != nil {
		s.Refuse(o.Member("agents"), "agents limits messages and decisions; a start names its agent, so remove agents")
	}
	return h
}

// schemes are the words for the schemes of [signature.Schemes].
var schemes = map[string]signature.Scheme{"standard": signature.Standard, "slack": signature.Slack, "github": signature.GitHub, "stripe": signature.Stripe, "discord": signature.Ed25519}

// Schemes are the words for schemes, in the order in which messages list them.
var Schemes = []string{"standard", "slack", "github", "stripe", "discord"}

func (s source) verify(root, n *yaml.Node) (v Verify) {
	if n == nil {
		s.Refuse(root, "a hook needs verify: how its deliveries are signed")
		return v
	}
	o, ok := s.Object(n, "verify")
	if !ok {
		return v
	}
	defer o.Close()
	v = Verify{Scheme: schemes[o.One("scheme", Schemes...)], Secret: o.Text("secret"), PublicKey: o.Text("public_key")}
	if o.Member("scheme") == nil {
		s.Refuse(n, "verify needs scheme; it is one of %s", strings.Join(Schemes, ", "))
	}
	public := v.Scheme == signature.Ed25519
	switch {
	case v.Scheme == "":
	case public && v.Secret != "":
		s.Refuse(o.Member("secret"), "discord signs with its own private key; replace secret by public_key")
	case public:
		if _, err := signature.Key(v.Scheme, v.PublicKey); err != nil {
			s.Refuse(n, "discord needs public_key: the application's public key, 64 hexadecimal digits")
		}
	case v.PublicKey != "":
		s.Refuse(o.Member("public_key"), "only discord has a public key; remove public_key")
	case !placeholder.SecretName.MatchString(v.Secret):
		s.Refuse(n, "verify needs secret: the name of the secret, not the secret itself; use A-Z, 0-9 and _, beginning with a letter")
	}
	return v
}

func (s source) origin(n *yaml.Node) (at Origin) {
	if n == nil {
		return at
	}
	o, ok := s.Object(n, "id")
	if !ok {
		return at
	}
	defer o.Close()
	at = Origin{Path: s.path(o, "path"), Header: o.Text("header")}
	if (at.Path == "") == (at.Header == "") {
		s.Refuse(n, "id needs exactly one of path and header")
	}
	return at
}

func (s source) names(o *strictyaml.Object) (names []string) {
	for _, n := range o.List("agents") {
		if n.ShortTag() != "!!str" || !agent.AgentName.MatchString(n.Value) {
			s.Refuse(n, "%q is not a valid agent name; name an agent", n.Value)
		}
		names = append(names, n.Value)
	}
	if n := o.Member("agents"); n != nil && n.Kind == yaml.SequenceNode && len(names) == 0 {
		s.Refuse(n, "agents is empty; name an agent, or remove it to allow all agents of the tenant")
	}
	return names
}

func (s source) start(n *yaml.Node) *Start {
	o := s.act(n, "start")
	if o == nil {
		return nil
	}
	defer o.Close()
	st := &Start{Agent: o.Text("agent"), Input: s.template(o, "input", true), ThreadKey: s.template(o, "thread_key", false), Metadata: s.metadata(o.Take("metadata")), OnPending: pending(o)}
	if !agent.AgentName.MatchString(st.Agent) {
		s.Refuse(n, "start needs agent: the name of the agent to run")
	}
	return st
}

func (s source) message(n *yaml.Node) *Message {
	o := s.act(n, "message")
	if o == nil {
		return nil
	}
	defer o.Close()
	m := &Message{Thread: s.template(o, "thread", false), ThreadKey: s.template(o, "thread_key", false), Text: s.template(o, "text", true), OnPending: pending(o)}
	if (m.Thread == nil) == (m.ThreadKey == nil) {
		s.Refuse(n, "message needs exactly one of thread and thread_key")
	}
	return m
}

func (s source) decision(n *yaml.Node) *Decision {
	o := s.act(n, "decision")
	if o == nil {
		return nil
	}
	defer o.Close()
	d := &Decision{Target: s.template(o, "target", true), Reason: s.template(o, "reason", false), Shown: s.template(o, "shown", false),
		Arguments: s.path(o, "arguments"), Result: s.path(o, "result")}
	action := o.Take("action")
	switch {
	case action == nil:
		s.Refuse(n, "decision needs action: resume, cancel, or where the body says which")
	case action.Kind == yaml.ScalarNode:
		d.Action = o.One("action", "resume", "cancel")
	default:
		s.actions(action, d)
	}
	return d
}

var teamForm = lazyregexp.New(notice.TeamForm)

func (s source) slackApp(root *strictyaml.Object, h Hook) *SlackApp {
	n := root.Take("slack_app")
	o := s.act(n, "slack_app")
	if o == nil {
		return nil
	}
	defer o.Close()
	app := &SlackApp{Token: o.Text("token"), Team: o.Text("team")}
	if !placeholder.SecretName.MatchString(app.Token) {
		s.Refuse(n, "slack_app needs token: the name of the secret with the bot token, not the token itself; use A-Z, 0-9 and _, beginning with a letter")
	}
	if !teamForm.MatchString(app.Team) {
		s.Refuse(n, "slack_app needs team: the id of the workspace, as in T0123ABCD; members of no other may decide")
	}
	if h.Verify.Scheme != signature.Slack {
		s.Refuse(n, "slack_app needs verify with the scheme slack")
	}
	for _, name := range []string{"when", "by", "id"} {
		if m := root.Member(name); m != nil {
			s.Refuse(m, "%s belongs to hooks that map a body; remove it, because a Slack app's buttons say it themselves", name)
		}
	}
	return app
}

// actions reads where the body has a word for an action, and which action each word means.
func (s source) actions(n *yaml.Node, d *Decision) {
	o, ok := s.Object(n, "action")
	if !ok {
		return
	}
	defer o.Close()
	if d.ActionPath = s.path(o, "path"); d.ActionPath == "" {
		s.Refuse(n, "action needs path: where the body has the word for the action")
	}
	values := o.Take("values")
	if values == nil {
		s.Refuse(n, "action needs values: which words mean resume, and which cancel")
		return
	}
	words, ok := s.Object(values, "values")
	if !ok {
		return
	}
	d.Actions = map[string]string{}
	for _, key := range words.Keys {
		d.Actions[key.Value] = words.One(key.Value, "resume", "cancel")
	}
	if len(d.Actions) == 0 {
		s.Refuse(values, "values is empty; say which words mean resume, and which cancel")
	}
}

func (s source) act(n *yaml.Node, what string) *strictyaml.Object {
	if n == nil {
		return nil
	}
	o, _ := s.Object(n, what)
	return o
}

func pending(o *strictyaml.Object) string { return o.One("on_pending", "refuse", "abandon", "queue") }

func (s source) metadata(n *yaml.Node) map[string]placeholder.Template {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "metadata")
	if !ok {
		return nil
	}
	all := map[string]placeholder.Template{}
	for _, key := range o.Keys {
		all[key.Value] = s.template(o, key.Value, true)
	}
	return all
}

// template takes a text with placeholders; nil if it is absent.
func (s source) template(o *strictyaml.Object, name string, needed bool) placeholder.Template {
	text := o.Text(name)
	n := o.Member(name)
	if text == "" {
		switch {
		case n != nil && n.ShortTag() == "!!str":
			s.Refuse(n, "%s is empty; write a text with {path} for values of the body", name)
		case n == nil && needed:
			s.Refuse(o.Node, "%s is missing; write a text with {path} for values of the body", name)
		}
		return nil
	}
	t, err := placeholder.Read(text)
	switch {
	case err != nil:
		s.Refuse(n, "%s: %v", name, err)
	case len(t.Secrets()) > 0:
		s.Refuse(n, "%s would show a secret to the model; remove {secret:%s}", name, t.Secrets()[0])
	}
	return t
}

var pathForm = lazyregexp.New(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// path takes a path into the body; "" if it is absent.
func (s source) path(o *strictyaml.Object, name string) string {
	path := o.Text(name)
	if n := o.Member(name); n != nil && n.ShortTag() == "!!str" && !pathForm.MatchString(path) {
		s.Refuse(n, "%s must be a path into the body, such as issue.user.login", name)
	}
	return path
}
