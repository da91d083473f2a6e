package xray_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/aws/xray"
)

const sampled = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a87bd80c:0"

// daemon is a socket that datagrams come to.
type daemon struct {
	*testing.T
	conn net.PacketConn
}

func newDaemon(t *testing.T) daemon {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return daemon{t, conn}
}

func (d daemon) next() map[string]any {
	d.Helper()
	if err := d.conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		d.Fatal(err)
	}
	buffer := make([]byte, 64<<10)
	n, _, err := d.conn.ReadFrom(buffer)
	if err != nil {
		d.Fatalf("no datagram: %v", err)
	}
	first, second, _ := strings.Cut(string(buffer[:n]), "\n")
	if first != `{"format":"json","version":1}` {
		d.Errorf("the header is %s", first)
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(second), &document); err != nil {
		d.Fatalf("%v in %s", err, second)
	}
	return document
}

// traced is a tracer on a clock that goes on a second each time it is looked at, with ids that
// count.
func traced(address string) *xray.Tracer {
	at, ids := time.Unix(1000, 0), byte(0)
	return xray.New(address, func() time.Time { at = at.Add(time.Second); return at }, func(b []byte) { ids++; b[len(b)-1] = ids })
}

func invoked(t *testing.T, header string) context.Context {
	//lint:ignore SA1029 the key is a string because the Lambda runtime's is one
	return context.WithValue(t.Context(), any(xray.ContextKey), header)
}

func TestSubsegmentsStandInOneAnother(t *testing.T) {
	d := newDaemon(t)
	x := traced("tcp:127.0.0.1:1 udp:" + d.conn.LocalAddr().String())
	ctx, endOuter := x.Begin(invoked(t, sampled), "model <ask>")
	_, endInner := x.Begin(ctx, "claim")
	endInner(errors.New("a text with arguments"))
	endOuter(nil)
	inner := map[string]any{"name": "claim", "id": "0000000000000002", "parent_id": "0000000000000001", "start_time": 1002.0, "end_time": 1003.0,
		"trace_id": "1-5759e988-bd862e3fe1be46a994272793", "type": "subsegment", "fault": true}
	outer := map[string]any{"name": "model _ask_", "id": "0000000000000001", "parent_id": "53995c3f42cd8ad8", "start_time": 1001.0, "end_time": 1004.0,
		"trace_id": "1-5759e988-bd862e3fe1be46a994272793", "type": "subsegment"}
	if diff := cmp.Diff([]map[string]any{inner, outer}, []map[string]any{d.next(), d.next()}); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
}

func TestNothingIsSentForATraceThatIsNotSampled(t *testing.T) {
	d := newDaemon(t)
	x := traced(d.conn.LocalAddr().String())
	for _, header := range []string{"", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0", "Sampled=1", "nonsense;=;Sampled=1;Root=;Parent="} {
		_, end := x.Begin(invoked(t, header), "not sampled")
		end(nil)
	}
	_, end := x.Begin(invoked(t, sampled), "sampled")
	end(nil)
	if got := d.next()["name"]; got != "sampled" {
		t.Errorf("%v was sent first", got)
	}
}

func TestWithoutADaemonNothingHappens(t *testing.T) {
	for _, address := range []string{"", "tcp:127.0.0.1:1", "udp:not an address", "127.0.0.1:1"} {
		_, end := traced(address).Begin(invoked(t, sampled), "x")
		end(nil)
		end(nil)
	}
}
