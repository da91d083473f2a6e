package linestest

import (
	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

func testWriteLine(t *lineTest) {
	t.handOver(ops, 7, 1000)
	l := t.claim(ops, "c1", 1000)
	t.handOver(ops, 8, 1500)
	failed, state := l.Entries[7].After(notice.Refused, notice.Attempt{At: 1400, Took: 20, Status: 503, Error: "503 Service Unavailable"}, 0)
	t.want("state", state, notice.StateWaiting)
	req := engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 7, Entry: &failed}
	l = t.write(req)
	t.want("failed entry", l.Entries[7], failed)
	t.wantEvents(l, 7, 8)
	t.want("the write again", t.write(req), l)
	l = t.write(engine.LineWrite{Key: ops, Epoch: l.Epoch, Event: 7})
	t.wantEvents(l, 8)
	t.want("stored", t.line(ops), l)

	// a late copy of the first write brings nothing back
	now, err := t.store.WriteLine(t.Context(), req)
	t.wantErr(err, engine.ErrRefused)
	t.want("line", now, l)
	t.want("stored", t.line(ops), l)
}
