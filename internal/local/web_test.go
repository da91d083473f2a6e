package local

import (
	"context"
	"net"
	"net/http"
	"testing"
)

// visitor is a connection that only says whether it was closed.
type visitor struct {
	net.Conn
	name   string
	closed bool
}

func (v *visitor) Close() error {
	v.closed = true
	return nil
}

// house takes so many guests at once.
type house struct {
	*guests
	visitors map[string]*visitor
}

func newHouse(most int) house {
	return house{&guests{most: most, all: map[net.Conn]*guest{}}, map[string]*visitor{}}
}

func (h house) come(owes debt, names ...string) {
	for _, name := range names {
		v := &visitor{name: name}
		h.visitors[name] = v
		one, _ := h.admit(context.Background(), v).Value(guestKey{}).(*guest)
		if owes != owesRequest {
			h.note(one, owes)
		}
	}
}

func (h house) gone() string {
	gone := ""
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		if v := h.visitors[name]; v != nil && v.closed {
			gone += name
		}
	}
	return gone
}

func TestWhoHasToGoWhenTooManyCome(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(house)
		want string
	}{
		{"nobody while there is room", func(h house) { h.come(owesRequest, "a", "b", "c", "d") }, ""},
		{"the one that has been silent longest", func(h house) { h.come(owesRequest, "a", "b", "c", "d", "e", "f") }, "ab"},
		{"not the one that was answered lately", func(h house) {
			h.come(owesRequest, "a", "b", "c", "d")
			h.changed(h.visitors["a"], http.StateIdle)
			h.come(owesRequest, "e")
		}, "b"},
		{"a silent one before reads that are older", func(h house) {
			h.come(getsRead, "a", "b")
			h.come(owesRequest, "c")
			h.come(getsRead, "d")
			h.note(h.all[h.visitors["d"]], getsRead)
			h.come(owesRequest, "e")
		}, "c"},
		{"the oldest reads before those that have just come", func(h house) {
			h.come(getsRead, "a", "b", "c", "d")
			h.come(owesRequest, "e", "f")
		}, "ab"},
		{"never what may have stored something", func(h house) {
			h.come(getsAnswer, "a", "b", "c")
			h.come(getsRead, "d")
			h.come(owesRequest, "e")
		}, "d"},
		{"the newcomer, where all others are such", func(h house) {
			h.come(getsAnswer, "a", "b", "c", "d")
			h.come(owesRequest, "e")
		}, "e"},
		{"nobody once one has left", func(h house) {
			h.come(owesRequest, "a", "b", "c", "d")
			h.changed(h.visitors["b"], http.StateClosed)
			h.come(owesRequest, "e")
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(4)
			tt.play(h)
			if got := h.gone(); got != tt.want {
				t.Errorf("gone are %q, want %q", got, tt.want)
			}
			if len(h.all) > 4 {
				t.Errorf("%d are there", len(h.all))
			}
		})
	}
}
