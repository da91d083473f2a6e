package core

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// fingerprintVersion changes with what [Fingerprint] covers, so that an old one is never compared
// with a new one by chance.
const fingerprintVersion = "v1:"

// Fingerprint identifies one question: the tenant, run, agent version, suspension, tool and
// argument bytes, and the preview shown with it. The approver sends it back with the decision, so
// the call that runs is the one the approver read. Each part is hashed after its length, so no two
// questions share the hashed text. All parts are journaled and never change: edited arguments get a
// new suspension.
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
