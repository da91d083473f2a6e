package agentfile_test

import (
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
)

// inPlaces are the parts of a file that a header, a query or a name of a secret can stand in.
func inPlaces(headers, query string) map[string]string {
	return map[string]string{
		"model":  "model: {provider: openai, model: m, base_url: 'https://a/v1', headers: {" + headers + "}}\n",
		"server": head + "tools: [{name: a, mcp: {server: s}, parameters: {type: object}}]\nservers: {s: {url: 'https://a/" + query + "', headers: {" + headers + "}}}\n",
		"http":   head + "tools: [{name: a, http: {url: 'https://a/" + query + "', headers: {" + headers + "}}, parameters: {type: object}}]\n",
	}
}

// TestAKeyThatIsWrittenIntoAFileIsRefused: the file is stored for every run, and shown to whoever
// may read agents.
func TestAKeyThatIsWrittenIntoAFileIsRefused(t *testing.T) {
	for _, header := range []string{"Authorization: Bearer hunter2", "authorization: hunter2", "X-Api-Key: hunter2", "Cookie: session=hunter2",
		"Ocp-Apim-Subscription-Key: hunter2", "X-Auth-Token: hunter2", "X-Team: sk-proj-hunter2hunter2hunter2", "X-Team: 'AKIAHUNTER2HUNTER222'",
		"X-Both: '{secret:TEAM} sk-proj-hunter2hunter2hunter2'"} {
		for place, text := range inPlaces(header, "") {
			refusedUnseen(t, place+", "+header, text, "a secret in plain text", "{secret:NAME}", "DORMOUSE_SECRET_NAME")
		}
	}
	for _, query := range []string{"?api_key=hunter2", "?token=hunter2", "?q=sk-proj-hunter2hunter2hunter2", "?a=1&ACCESS_TOKEN=hunter2"} {
		places := inPlaces("", query)
		refusedUnseen(t, "server, "+query, places["server"], "url contains a secret in plain text")
		refusedUnseen(t, "http, "+query, places["http"], "the query of url contains a secret in plain text")
	}
	refusedUnseen(t, "query", head+"tools: [{name: a, http: {url: 'https://a/', query: {api_key: hunter2}}, parameters: {type: object}}]\n", "api_key in query contains a secret in plain text")
	refusedUnseen(t, "request", "model: {provider: openai, model: m, base_url: 'https://a/v1', request: {key: sk-proj-hunter2hunter2hunter2}}\n", "request contains a secret in plain text")
	refusedUnseen(t, "a key of capitals", "model: {provider: openai, model: m, base_url: 'https://a/v1', api_key: AKIAHUNTER2HUNTER222}\n", "not the key itself")
	for place, text := range inPlaces("X-A: 'Bearer {secret:hunter2}'", "") {
		refusedUnseen(t, place, text, "the name of a secret, not the secret itself")
	}
	for place, text := range inPlaces("X-A: 'Bearer {hunter2'", "") {
		refusedUnseen(t, place, text, "a brace belongs to no placeholder")
	}
}

func refusedUnseen(t *testing.T, what, text string, want ...string) {
	t.Helper()
	_, err := agentfile.Parse("a.yaml", []byte(text), noFiles)
	if err == nil {
		t.Errorf("%s: not refused", what)
		return
	}
	for _, word := range append(want, "a.yaml:") {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v\ndoes not say %s", what, err, word)
		}
	}
	if strings.Contains(strings.ToLower(err.Error()), "hunter2") {
		t.Errorf("%s: the key is repeated: %v", what, err)
	}
}

func TestTheNameOfTheVariableIsNotTheNameOfTheSecret(t *testing.T) {
	refusedUnseen(t, "api_key", "model: {provider: openai, model: m, base_url: 'https://a/v1', api_key: DORMOUSE_SECRET_MODELS}\n", "write MODELS,")
	for place, text := range inPlaces("X-A: '{secret:DORMOUSE_SECRET_TEAM}'", "") {
		refusedUnseen(t, place, text, "write {secret:TEAM}")
	}
}

func TestWhatIsNoKeyIsTaken(t *testing.T) {
	for _, header := range []string{"Authorization: 'Bearer {secret:TEAM}'", "X-Api-Version: '2026-11-21'", "X-Atlassian-Token: no-check", "X-Team: desk-and-more-of-the-same", "Cookie: ''"} {
		for place, text := range inPlaces(header, "?key=name&page=2") {
			if _, err := agentfile.Parse("a.yaml", []byte(text), noFiles); err != nil {
				t.Errorf("%s, %s: %v", place, header, err)
			}
		}
	}
	const argument = "tools: [{name: a, http: {url: 'https://a/?token={place}', headers: {X-Api-Key: '{place}'}}, parameters: {type: object, properties: {place: {type: string}}}}]\n"
	if _, err := agentfile.Parse("a.yaml", []byte(head+argument), noFiles); err != nil {
		t.Error(err)
	}
}
