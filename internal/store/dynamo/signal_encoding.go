package dynamo

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo/headform"
)

// A signal in the inbox is part of the head, and the head should fit into one capacity unit. A
// signal therefore repeats nothing, and hashes are stored as bytes.

// Attributes of a signal.
const (
	attrKind     = "k"
	attrCall     = "c"
	attrID       = "id"
	attrDig      = "dig"
	attrMessage  = "msg"
	attrValue    = "v"
	attrDecision = "d" // the value, for a decision that repeats the signal's own fields
	attrRef      = "ref"
	attrBy       = "by"
	attrVia      = "via"
	attrAnswers  = "sus"
	attrTime     = "t"
	attrOn       = "on"
	attrLink     = "link"
	attrMint     = "mint"
	attrVerified = "ver"
	attrAs       = "as"
	attrHold     = "hold"
)

func inboxOf(thread string, inbox map[string]core.Signal) types.AttributeValue {
	out := item{}
	for key, signal := range inbox {
		out[headform.Short(thread, key)] = signalOf(thread, signal)
	}
	return mapOf(out)
}

func signalOf(thread string, s core.Signal) types.AttributeValue {
	it := item{attrKind: text(string(s.Kind)), attrTime: number(s.At)}
	for name, v := range map[string]types.AttributeValue{
		attrCall: unlessEmpty(s.Call), attrID: unlessEmpty(s.ID), attrDig: hashOf(s.Digest), attrRef: unlessEmpty(s.Ref),
		attrBy: unlessEmpty(s.By), attrVia: unlessEmpty(s.Via), attrAnswers: unlessEmpty(headform.Short(thread, s.Sus)), attrOn: unlessEmpty(string(s.On)),
		attrLink: unlessEmpty(s.Link), attrMint: unlessEmpty(s.Mint), attrVerified: unlessEmpty(s.Ver), attrMessage: unlessEmpty(s.Msg), attrAs: unlessEmpty(s.As), attrHold: unlessZero(s.Hold),
	} {
		if v != nil {
			it[name] = v
		}
	}
	if len(s.Value) == 0 {
		return mapOf(it)
	}
	value := string(core.Encode(s.Value))
	before, after := around(s.ID, s.At)
	if rest, ok := strings.CutPrefix(value, before); ok && len(rest) > len(after) && strings.HasSuffix(rest, after) {
		it[attrDecision] = text(strings.TrimSuffix(rest, after))
	} else {
		it[attrValue] = text(value)
	}
	return mapOf(it)
}

// around returns the beginning and the end of a decision that has the signal's own id and time.
func around(id string, at int64) (before, after string) {
	return `{"decision_id":` + encoded(id) + ",", `,"updated_at":` + strconv.FormatInt(at, 10) + "}"
}

func readSignal(it item, long func(string) string) core.Signal {
	s := core.Signal{Kind: core.SignalKind(textAt(it, attrKind)), Call: textAt(it, attrCall), ID: textAt(it, attrID), Digest: hashAt(it, attrDig),
		Ref: textAt(it, attrRef), By: textAt(it, attrBy), Via: textAt(it, attrVia), Sus: long(textAt(it, attrAnswers)), At: numberAt(it, attrTime), On: core.OnPending(textAt(it, attrOn)),
		Link: textAt(it, attrLink), Mint: textAt(it, attrMint), Ver: textAt(it, attrVerified), Msg: textAt(it, attrMessage), As: textAt(it, attrAs), Hold: numberAt(it, attrHold)}
	if v := textAt(it, attrValue); v != "" {
		s.Value = json.RawMessage(v)
	}
	if d := textAt(it, attrDecision); d != "" {
		before, after := around(s.ID, s.At)
		s.Value = json.RawMessage(before + d + after)
	}
	return s
}

// hashOf stores a hash in half the size and any other text unchanged. It is nil for an empty text.
func hashOf(s string) types.AttributeValue {
	raw, err := hex.DecodeString(s)
	if err == nil && len(raw) > 0 && hex.EncodeToString(raw) == s {
		return bytesOf(raw)
	}
	return unlessEmpty(s)
}

func hashAt(it item, name string) string {
	if raw := bytesAt(it, name); raw != nil {
		return hex.EncodeToString(raw)
	}
	return textAt(it, name)
}
