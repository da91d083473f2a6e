// Package gateway reads the answers of gateways in front of a server.
package gateway

import (
	"encoding/json"

	"github.com/dormouse-dev/dormouse/internal/text/clip"
)

// maxMessage bounds what is kept of a gateway's message.
const maxMessage = 500

// Message is the message in the body of a gateway's own answer; API Gateway writes the
// member as message, or as Message.
func Message(body []byte) string {
	var said struct {
		Message string `json:"message"` // found in any case
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	return clip.Bytes(said.Message, maxMessage, "...")
}
