package dynamo

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// key is the primary key of an item.
type key struct{ pk, sk string }

func (k key) attributes() item { return item{attrPK: text(k.pk), attrSK: text(k.sk)} }

func (k key) String() string { return k.pk + " " + k.sk }

// Prefixes of keys.
const (
	prefixThread  = "T#"
	prefixKey     = "IDEM#"
	prefixAgent   = "A#"
	prefixSegment = "S#"
	prefixPayload = "P#"
	prefixRecord  = "R#"
	prefixVersion = "V#"
	prefixLink    = "L#"
	prefixFeed    = "F#"
	prefixLine    = "N#"
	prefixPosted  = "M#"
	prefixPushes  = "PN#"

	// of records of notices, and of the list of those that are dead
	prefixNotice     = "NR#"
	prefixDeadNotice = "NX#"

	// of what belongs to a tenant's endpoints, and within it of its webhooks and of endpoints
	// that are disabled
	prefixEndpoints = "W#"
	prefixWebhook   = "WH#"
	prefixDisabled  = "WX#"

	skHead    = "#H"
	skAlone   = "#"
	skCurrent = "#CURRENT"
)

var (
	linksKey  = key{"K#links", skAlone}
	tenantsPK = "K#tenants"
	hooksPK   = "K#hooks"
)

func threadPK(tenant, thread string) string { return prefixThread + join(tenant, thread) }

func headKey(tenant, thread string) key { return key{threadPK(tenant, thread), skHead} }

func recordSK(run string) string { return prefixRecord + escape(run) }

func recordKey(tenant, thread, run string) key { return key{threadPK(tenant, thread), recordSK(run)} }

func payloadKey(tenant, thread, digest string) key {
	return key{threadPK(tenant, thread), prefixPayload + escape(digest)}
}

func usedKey(tenant, name string) key { return key{prefixKey + join(tenant, name), skAlone} }

func versionKey(tenant, name, digest string) key {
	return key{prefixAgent + join(tenant, name), prefixVersion + escape(digest)}
}

func currentKey(tenant, name string) key { return key{prefixAgent + join(tenant, name), skCurrent} }

func linksPK(tenant, run string) string { return prefixLink + join(tenant, run) }

func linkKey(tenant, run, id string) key {
	return key{linksPK(tenant, run), prefixLink + escape(id)}
}

func postedKey(p notice.Posted) key {
	return key{prefixPosted + join(p.Tenant, p.Run), prefixPosted + join(p.Target, p.Suspension)}
}

func pushesKey(tenant, group string) key { return key{prefixPushes + join(tenant, group), skAlone} }

func tenantKey(tenant string) key { return key{tenantsPK, "#" + escape(tenant)} }

func hookKey(name string) key { return key{hooksPK, "#" + escape(name)} }

func endpointsPK(tenant string) string { return prefixEndpoints + escape(tenant) }

func webhookKey(tenant, id string) key { return key{endpointsPK(tenant), prefixWebhook + escape(id)} }

func disabledKey(tenant, endpoint string) key {
	return key{endpointsPK(tenant), prefixDisabled + escape(endpoint)}
}

// segmentSK contains the stamp, so that no put of a segment can replace another, regardless of its
// sender and its delay.
func segmentSK(seq int64, w core.Stamp) string {
	return fmt.Sprintf("%s%016x", segmentPrefix(seq), int64(w))
}

func segmentPrefix(seq int64) string { return fmt.Sprintf("%s%012d#", prefixSegment, seq) }

// Partitions of the indexes.
func runsPartition(tenant string) string      { return prefixThread + escape(tenant) }
func agentsPartition(tenant string) string    { return prefixAgent + escape(tenant) }
func approvalsPartition(tenant string) string { return prefixThread + escape(tenant) }

// runPosition orders the runs of a tenant by their time of creation.
func runPosition(born int64, run string) string { return fmt.Sprintf("%015d#%s", born, run) }

// bornAt returns the time in a position, or 0 if it is not one.
func bornAt(position string) int64 {
	digits, _, _ := strings.Cut(position, "#")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// runAt returns the run in a position.
func runAt(position string) string {
	_, run, _ := strings.Cut(position, "#")
	return run
}

func shardName(n int) string { return fmt.Sprintf("D#%d", n) }

func (s *Store) shard(pk string) string {
	h := fnv.New32a()
	h.Write([]byte(pk))
	return shardName(int(h.Sum32() % uint32(s.o.Shards)))
}

func join(a, b string) string { return escape(a) + "#" + escape(b) }

// escape returns text without a #, and different texts for different inputs. It keeps invalid UTF-8
// apart, which would otherwise turn into the same replacement character on its way to the server.
func escape(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '#', r == '%':
			fmt.Fprintf(&b, "%%%02X", r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, "%%%02X", s[i])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unescape reverses escape.
func unescape(s string) (string, error) { return url.PathUnescape(s) }

// threadOf returns the thread whose items have a partition key.
func threadOf(pk string) (engine.Wakeup, error) {
	rest, ok := strings.CutPrefix(pk, prefixThread)
	left, right, two := strings.Cut(rest, "#")
	tenant, err1 := unescape(left)
	thread, err2 := unescape(right)
	if !ok || !two || err1 != nil || err2 != nil {
		return engine.Wakeup{}, unreadable("partition key "+pk, fmt.Errorf("it is not the key of a thread"))
	}
	return engine.Wakeup{Tenant: tenant, Thread: thread}, nil
}
