package headform

import (
	"strconv"
	"strings"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Parent is the stored form of a [core.Parent]: the run and the suspension leave out their thread,
// and the thread its prefix. An id of any other form is stored whole, after an exclamation mark.
type Parent struct {
	Thread string `json:"t"`
	Run    string `json:"r"`
	Sus    string `json:"s"`
	Call   string `json:"c"`
	Depth  int    `json:"d"`
	Max    int    `json:"m,omitempty"`
	Final  bool   `json:"f,omitempty"`
}

const whole = "!"

// ShortParent is nil for nil.
func ShortParent(p *core.Parent) *Parent {
	if p == nil {
		return nil
	}
	short := Parent{Call: p.Call, Depth: p.Depth, Max: p.Deepest, Final: p.Final}
	short.Thread = orWhole(p.Thread, strings.TrimPrefix(p.Thread, "thr_"), core.ThreadID)
	short.Run = orWhole(p.Run, p.Run[strings.LastIndexByte(p.Run, '_')+1:], func(n string) string { return runOf(p.Thread, n) })
	short.Sus = orWhole(p.Sus, strings.TrimPrefix(Short(p.Thread, p.Sus), "sus_"), func(s string) string { return Long(p.Thread, "sus_"+s) })
	return &short
}

// orWhole is short, if that can be read again.
func orWhole(id, short string, long func(string) string) string {
	if strings.HasPrefix(short, whole) || long(short) != id {
		return whole + id
	}
	return short
}

func runOf(thread, number string) string {
	n, err := strconv.ParseInt(number, 36, 64)
	if err != nil {
		return ""
	}
	return core.RunID(thread, n)
}

// Long reverses [ShortParent].
func (p *Parent) Long() *core.Parent {
	if p == nil {
		return nil
	}
	long := core.Parent{Call: p.Call, Depth: p.Depth, Deepest: p.Max, Final: p.Final}
	long.Thread = fromWhole(p.Thread, core.ThreadID)
	long.Run = fromWhole(p.Run, func(n string) string { return runOf(long.Thread, n) })
	long.Sus = fromWhole(p.Sus, func(s string) string { return Long(long.Thread, "sus_"+s) })
	return &long
}

func fromWhole(short string, long func(string) string) string {
	if id, ok := strings.CutPrefix(short, whole); ok {
		return id
	}
	return long(short)
}
