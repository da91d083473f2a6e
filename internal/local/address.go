package local

import (
	"errors"
	"fmt"
	"net"
)

// ErrNotLoopback: without tokens, the server listens only on a loopback address.
var ErrNotLoopback = errors.New("this address can be reached from other machines: pass a token file with --tokens, or listen on 127.0.0.1")

// CheckAddr says whether the runtime may listen on addr: on a loopback address always, elsewhere
// only with tokens.
func CheckAddr(addr string, tokens bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not an address; write it as HOST:PORT", addr)
	}
	if tokens || IsLoopback(host) {
		return nil
	}
	return ErrNotLoopback
}

// IsLoopback says whether a host is this machine, for itself alone.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
