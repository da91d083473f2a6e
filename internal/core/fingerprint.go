package core

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// fingerprintVersion changes with what [Fingerprint] covers, so that an old one is never compared
// with a new one by chance.
const fingerprintVersion = "v1:"

// Fingerprint names one question exactly: for which tenant, run and version of the agent, on which
// suspension, which tool with which argument bytes, and the preview that came with it. An approver
// sends it back with the decision, so that what was read is what runs. Each part has its length
// before it: no two questions share the text that is hashed.
//
// It covers what is journaled with the suspension and the run, and neither changes. A question with
// other arguments has a suspension, and an id, of its own.
func Fingerprint(tenant, run, version string, c SuspendedCall) string {
	parts := []string{tenant, run, c.Suspension.ID, version, c.ToolName, string(c.Pending.Arguments)}
	if p := c.Preview; p != nil {
		parts = append(parts, p.Text, p.Failed, p.Tool)
	}
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	return fingerprintVersion + hex.EncodeToString(hash.Sum(nil))
}
