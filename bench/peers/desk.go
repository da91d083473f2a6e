//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/command"
)

type order struct {
	Order int `json:"order"`
}

// serveDesk is the command dormouse with the two tools of the comparison.
func serveDesk() {
	settle := func(_ context.Context, _ dormouse.Call, o order) (any, error) { return result(o.Order), nil }
	command.Main(dormouse.Program{Name: "desk", Tools: []dormouse.Tool{
		dormouse.Func("look", "Looks an order up.", settle),
		dormouse.Func("refund", "Refunds an order.", settle),
	}})
}

var words = strings.Fields("lamp chair parcel table invoice shelf cushion label rug box mirror clock blanket mug set receipt bag drawer handle frame")

// result returns 2 KB of text. The programs of the other peers return the same.
func result(order int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Order %d:", order)
	for x := uint32(order); b.Len() < 2000; {
		x = (x*1103515245 + 12345) & 0x7fffffff
		b.WriteString(" " + words[(x>>16)%20])
	}
	return b.String()[:2000]
}
