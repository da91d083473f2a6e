package servers

import (
	"encoding/json"
	"time"
)

// withoutWait takes WaitTimeSeconds out of a ReceiveMessage, and returns how long it was. Any other
// request is left as it is.
func withoutWait(target string, body []byte) ([]byte, time.Duration) {
	if target != "AmazonSQS.ReceiveMessage" {
		return body, 0
	}
	var request map[string]json.RawMessage
	var seconds int
	if json.Unmarshal(body, &request) != nil || json.Unmarshal(request["WaitTimeSeconds"], &seconds) != nil || seconds <= 0 {
		return body, 0
	}
	request["WaitTimeSeconds"] = json.RawMessage("0")
	short, err := json.Marshal(request)
	if err != nil {
		return body, 0
	}
	return short, time.Duration(seconds) * time.Second
}
