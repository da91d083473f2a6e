package slackdouble

import (
	"encoding/json"
	"net/url"
)

// payload is a form with one field, as Slack sends it.
func payload(of map[string]any) string {
	raw, _ := json.Marshal(of)
	return url.Values{"payload": {string(raw)}}.Encode()
}
