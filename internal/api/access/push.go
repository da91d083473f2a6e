package access

import (
	"encoding/base64"
	"strings"
)

// PushPath is the path of a server below which remote agents say that there is news of a task.
const PushPath = "/v1/push/"

// Push is the address where a remote agent says that there is news of the task that a run has given
// it. It is good for nothing else.
type Push struct {
	Tenant, Run string
	Token       string // of the run: it alone opens the address
}

// Text is the address as text that is safe in a path.
func (p Push) Text() string {
	return encode([]byte(strings.Join([]string{p.Tenant, p.Run, p.Token}, "\x00")))
}

// Pushes returns the function that makes whole addresses of this server; nil if remote agents have
// no address to send to, or would send the token in the clear.
func (p PublicURL) Pushes() func(tenant, run, token string) string {
	if !p.Secure() {
		return nil
	}
	return func(tenant, run, token string) string { return p.To(PushPath + Push{tenant, run, token}.Text()) }
}

// ReadPush reads what [Push.Text] wrote.
func ReadPush(text string) (p Push, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	parts := strings.Split(string(raw), "\x00")
	if len(text) > 512 || err != nil || len(parts) != 3 || CheckTenant(parts[0]) != nil || parts[2] == "" {
		return Push{}, false
	}
	return Push{Tenant: parts[0], Run: parts[1], Token: parts[2]}, true
}
