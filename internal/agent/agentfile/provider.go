package agentfile

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/agent/agentfile/form"
	"github.com/dormouse-dev/dormouse/internal/text/placeholder"
	"github.com/dormouse-dev/dormouse/internal/text/strictyaml"
)

var allProviders = strings.Join(form.Providers[:len(form.Providers)-1], ", ") + " or " + form.Providers[len(form.Providers)-1]

// foreign refuses members of another provider. Members of the two providers that answer from files
// are checked where those are read.
func (s *source) foreign(o *object, provider string) {
	if provider == "" {
		return
	}
	fromFile := !slices.Contains(form.Called, provider)
	for _, key := range o.Keys {
		of, known := form.ModelMembers[key.Value]
		switch {
		case !known, slices.Contains(of, provider), fromFile && !slices.Contains(of, agent.ProviderBedrock) && !slices.Contains(of, agent.ProviderOpenAI):
		case len(of) > 1:
			s.Refuse(key, "%s belongs to the providers %s; remove it", key.Value, strings.Join(of, " and "))
		default:
			s.Refuse(key, "%s belongs to the provider %s; remove it", key.Value, of[0])
		}
	}
}

// called reads all members of a model that is called over a network, of any provider.
func (s *source) called(o *object, provider string) agent.Model {
	m := agent.Model{
		Provider: provider, ID: o.Text("model"), BaseURL: o.Text("base_url"), APIKey: o.Text("api_key"),
		Headers: s.texts(o.Take("headers"), "headers"), Region: o.Text("region"),
		MaxTokens:   int64(s.count(o.Take("max_tokens"), "max_tokens")),
		Temperature: s.fraction(o, "temperature", max(form.Hottest[provider], 1)), TopP: s.fraction(o, "top_p", 1),
		StopSequences: s.names(o, "stop_sequences"), Effort: s.word(o, "effort"),
		Output: s.output(o.Take("output")), Request: s.request(o.Take("request")),
		Cache: o.One("cache", form.Caches...), Guardrail: s.guardrail(o.Take("guardrail")), Latency: o.One("latency", form.Latencies...),
	}
	if n := o.Take("outage"); n != nil {
		m.Outage = s.within(n, "outage")
	}
	if stream := o.Flag("stream"); o.Member("stream") != nil {
		m.Whole = !stream
	}
	if provider == agent.ProviderBedrock {
		m.Tier = o.One("tier", form.Tiers...)
	} else {
		m.Tier = s.word(o, "tier")
	}
	return m
}

// word reads a member that is one of the provider's values.
func (s *source) word(o *object, name string) string {
	word := o.Text(name)
	if n := o.Member(name); n != nil && n.ShortTag() == "!!str" && !form.PlainWord.MatchString(word) {
		s.Refuse(n, "%s must be one of the provider's values, in lower case", name)
	}
	return word
}

// fraction reads a number from 0 to most and keeps its digits.
func (s *source) fraction(o *object, name string, most int64) json.Number {
	n := o.Take(name)
	if n == nil {
		return ""
	}
	number, ok := json.Number(""), n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float")
	if ok {
		number, ok = jsonNumber(n)
	}
	value, exact := agent.Rational(number)
	if !ok || !exact || value.Sign() < 0 || value.Cmp(big.NewRat(most, 1)) > 0 {
		s.Refuse(n, "%s must be a number from 0 to %d", name, most)
		return ""
	}
	return number
}

// output reads the schema of the model's answer. Providers accept only schemas of objects.
func (s *source) output(n *yaml.Node) json.RawMessage {
	if n == nil {
		return nil
	}
	raw := s.value(n)
	if n.Kind != yaml.MappingNode || memberOf(n, "type").Value != "object" {
		s.Refuse(n, "output must be the JSON Schema of an object: a mapping that begins with type: object")
	} else if err := checkResult(raw); err != nil {
		s.Refuse(n, "output: %v", err)
	}
	return raw
}

func (s *source) request(n *yaml.Node) json.RawMessage {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		s.Refuse(n, "request must be a mapping of more members of the provider's request, not %s", strictyaml.KindOf(n))
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := n.Content[i].Value; slices.Contains(form.OursInRequest, name) {
			s.Refuse(n.Content[i], "%s in request is set by this program; remove it", name)
		}
	}
	raw := s.value(n)
	if strings.Contains(string(raw), "{secret:") {
		s.Refuse(n, "request is sent without replacing secrets; use api_key, or {secret:NAME} in headers")
	} else if keyForm.Match(raw) {
		s.Refuse(n, "request contains a secret in plain text, and agent files are stored and shown; name it with api_key, or as {secret:NAME} in headers")
	}
	return raw
}

func (s *source) guardrail(n *yaml.Node) *agent.Guardrail {
	if n == nil {
		return nil
	}
	o, ok := s.Object(n, "guardrail")
	if !ok {
		return nil
	}
	defer o.Close()
	g := &agent.Guardrail{ID: o.Text("id"), Async: o.Flag("async")}
	version := o.Take("version")
	if version != nil {
		g.Version = version.Value // also where it looks like a number
	}
	switch {
	case o.Member("id") == nil || version == nil:
		s.Refuse(n, "guardrail needs id and version")
	case len(g.ID) > 2048 || !form.Guardrail.MatchString(g.ID):
		s.Refuse(o.Member("id"), "%q is not a guardrail; write its id (lower-case letters and digits) or its ARN", agent.Shorten(g.ID, 100))
	case version.Kind != yaml.ScalarNode || !form.GuardTurn.MatchString(g.Version):
		s.Refuse(version, "the version of a guardrail is a number from 1, or DRAFT")
	}
	return g
}

// checkCalled checks the members of a model by the rules of its provider.
func (s *source) checkCalled(o *object, m agent.Model) {
	if n := o.Member("max_tokens"); n != nil && m.MaxTokens < 1 {
		s.Refuse(n, "max_tokens must be at least 1")
	}
	if m.Provider == agent.ProviderBedrock {
		s.checkBedrock(o, m)
	} else {
		s.checkOpenAI(o, m)
	}
}

func (s *source) checkBedrock(o *object, m agent.Model) {
	switch n := o.Member("model"); {
	case n == nil:
		s.Refuse(o.Node, "model needs model: Bedrock's id of a model or inference profile, or an ARN")
	case len(m.ID) > form.LongestID || !form.BedrockID.MatchString(m.ID):
		s.Refuse(n, "%q is not a Bedrock model; write an id or an ARN: letters, digits and ._:/-, at most 2048", agent.Shorten(m.ID, 100))
	}
	if n := o.Member("region"); n != nil && !form.Region.MatchString(m.Region) {
		s.Refuse(n, "%q is not an AWS region; write one such as eu-central-1", agent.Shorten(m.Region, 100))
	}
	if m.Guardrail != nil && m.Guardrail.Async && m.Whole {
		s.Refuse(o.Member("guardrail"), "async has no effect without streaming; remove it, or stream: false")
	}
}

func (s *source) checkOpenAI(o *object, m agent.Model) {
	switch n := o.Member("model"); {
	case n == nil:
		s.Refuse(o.Node, "model needs model: the endpoint's name for the model")
	case m.ID == "" || len(m.ID) > form.LongestID || strings.ContainsFunc(m.ID, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		s.Refuse(n, "%q is not a valid model name; write it without blanks, at most 2048 characters", agent.Shorten(m.ID, 100))
	}
	if n := o.Member("api_key"); n != nil && n.ShortTag() == "!!str" {
		switch short, long := strings.CutPrefix(m.APIKey, "DORMOUSE_SECRET_"); {
		// it may be a key, so the message does not repeat it
		case !placeholder.SecretName.MatchString(m.APIKey), keyForm.MatchString(m.APIKey):
			s.Refuse(n, "api_key must be the name of a secret, not the key itself; use A-Z, 0-9 and _, beginning with a letter, "+
				"and set the environment variable DORMOUSE_SECRET_ followed by the name")
		case long:
			s.Refuse(n, "api_key names the environment variable; write %s, without DORMOUSE_SECRET_", short)
		}
	}
	headers := o.Member("headers")
	set := slices.Concat(ours, []string{"Accept", "Content-Type"})
	s.fixedHeaders(headers, m.Headers, set)
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		if strings.EqualFold(name, "Authorization") && m.APIKey != "" {
			s.Refuse(memberOf(headers, name), "api_key is sent as Authorization; remove one of them")
		}
	}
	s.checkBaseURL(o, m)
}

func (s *source) checkBaseURL(o *object, m agent.Model) {
	n := o.Member("base_url")
	if n == nil {
		s.Refuse(o.Node, "model needs base_url: the address of the endpoint, as in http://127.0.0.1:11434/v1")
		return
	}
	switch t, err := readEndpoint("base_url", m.BaseURL); {
	case err != nil:
		s.Refuse(n, "%v", err)
	case strings.Contains(m.BaseURL, "?"):
		s.Refuse(n, "base_url has a query; remove everything from ? on")
	case strings.HasSuffix(strings.TrimRight(m.BaseURL, "/"), "/chat/completions"):
		s.Refuse(n, "base_url includes /chat/completions, which this program adds; remove it")
	case t.Scheme == "http" && !t.Loopback() && len(m.Secrets()) > 0:
		s.Refuse(n, "a secret would be sent unencrypted; use https")
	}
}
