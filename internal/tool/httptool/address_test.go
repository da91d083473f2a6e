package httptool

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// hostile are addresses that no tool reaches by itself.
var hostile = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254", "127.0.0.1", "127.1.2.3", "127.255.255.255", "169.254.0.1",
	"169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
	"198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1",
	"168.63.129.16", "100.100.100.200", "2620:4f:8000::1", "fd00:c1::a9fe:a9fe", "fe80::a9fe:a9fe", "169.254.170.23", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42",
	"100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%lo", "fec0::1", "ff02::1",
}

func TestHostileAddressesAreNotDialled(t *testing.T) {
	for _, address := range hostile {
		for _, how := range []string{"as it is", "behind a name"} {
			t.Run(address+" "+how, func(t *testing.T) {
				w := newWorld(t)
				url := "https://api.example.com/"
				if a := netip.MustParseAddr(address); how == "as it is" && a.Zone() == "" {
					url = "https://" + strings.TrimSuffix(netip.AddrPortFrom(a, 443).String(), ":443") + "/"
				}
				w.names["api.example.com"] = []string{address}
				out := w.call(`  - {name: x, http: {url: "`+url+`"}, parameters: {type: object}}`, `{}`)
				if !out.Failed || !strings.Contains(out.Text, "private or special network") || len(w.dialled) != 0 {
					t.Errorf("outcome %+v, dialled %v", out, w.dialled)
				}
				if how == "behind a name" && strings.Contains(out.Text, address) {
					t.Errorf("the model is told the address: %s", out.Text)
				}
			})
		}
	}
}

func TestPublicAddressesAreDialled(t *testing.T) {
	for _, address := range []string{"1.1.1.1", "8.8.8.8", "93.184.215.14", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1", "192.167.1.1",
		"223.255.255.254", "2606:4700:4700::1111", "2a00:1450:4001::1"} {
		w := newWorld(t)
		w.names["api.example.com"] = []string{address}
		w.call(look, `{"order":"1"}`)
		if len(w.dialled) == 0 || w.dialled[0].Addr().String() != address {
			t.Errorf("%s: dialled %v", address, w.dialled)
		}
	}
}

// TestTheMachinesOwnResolverIsNoWayRound uses the real resolver and dialer, which read some texts
// as addresses that are none in a URL.
func TestTheMachinesOwnResolverIsNoWayRound(t *testing.T) {
	w := newWorld(t)
	s := w.serve("127.0.0.1:80", answering(200, `"inside"`))
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	c := w.callerWith(func(o *Options) { o.Lookup, o.Dial = nil, nil })
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::ffff:7f00:1]", "0"} {
		tool, _ := readTool(t, fmt.Sprintf(`  - {name: x, http: {url: "http://%s:%s/", retries: 0}, parameters: {type: object}}`, host, port))
		out, err := c.Tool(tool).Run(t.Context(), requestFor(`{}`))
		if err != nil || !out.Failed || len(w.requests()) != 0 {
			t.Errorf("%s: outcome %+v, %v", host, out, err)
		}
	}
}

func TestANameThatMeansSomethingElseLaterChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.serve(publicAddress+":443", answering(200, `"outside"`))
	moving, lookups := movingTo("169.254.169.254")
	c := w.callerWith(moving)
	tool, _ := readTool(t, look)
	body := c.Tool(tool)
	out, err := body.Run(t.Context(), requestFor(`{"order":"1"}`))
	if err != nil || out.Text != `"outside"` || *lookups != 1 {
		t.Errorf("outcome %+v, %v after %d lookups", out, err, *lookups)
	}
	if out, err = body.Run(t.Context(), requestFor(`{"order":"1"}`)); err != nil || !out.Failed {
		t.Errorf("outcome %+v, %v", out, err)
	}
	for _, a := range w.dialled {
		if a.Addr().String() != publicAddress {
			t.Errorf("dialled %s", a)
		}
	}
}

func TestPrivateAddressesNeedTheFileAndTheOperator(t *testing.T) {
	const open, shut = "allow_private: true, ", ""
	tests := []struct {
		name, file, host, leads string
		operator                []string
		reached                 bool
	}{
		{"neither", shut, "svc.internal", "10.1.2.3", nil, false},
		{"the file alone", open, "svc.internal", "10.1.2.3", nil, false},
		{"the operator alone", shut, "svc.internal", "10.1.2.3", []string{"svc.internal"}, false},
		{"both, by name", open, "svc.internal", "10.1.2.3", []string{"svc.internal"}, true},
		{"by name, however it is written", open, "SVC.internal.", "10.1.2.3", []string{"svc.INTERNAL"}, true},
		{"by name and port", open, "svc.internal", "10.1.2.3", []string{"svc.internal:80"}, true},
		{"another port", open, "svc.internal", "10.1.2.3", []string{"svc.internal:9000"}, false},
		{"another name", open, "svc.internal", "10.1.2.3", []string{"other.internal"}, false},
		{"a name below", open, "a.svc.internal", "10.1.2.3", []string{"svc.internal"}, false},
		{"by network", open, "svc.internal", "10.1.2.3", []string{"192.168.0.0/16", "10.0.0.0/8"}, true},
		{"another network", open, "svc.internal", "11.1.2.3", []string{"10.0.0.0/24"}, true},
		{"outside the network", open, "svc.internal", "10.1.2.3", []string{"10.0.0.0/24"}, false},
		{"by address", open, "svc.internal", "10.1.2.3", []string{"10.1.2.3"}, true},
		{"by address and port", open, "10.1.2.3", "", []string{"10.1.2.3:80"}, true},
		{"by IPv6 address and port", open, "[fd00::7]", "", []string{"[fd00::7]:80"}, true},
		{"the machine itself", open, "localhost", "127.0.0.1", []string{"localhost:80"}, true},
		{"a name does not open the credentials of a cloud", open, "svc.internal", "169.254.169.254", []string{"svc.internal"}, false},
		{"nor every address there is", open, "svc.internal", "0.0.0.0", []string{"svc.internal"}, false},
		{"nor an IPv4 address in another's clothes", open, "svc.internal", "::ffff:10.1.2.3", []string{"svc.internal", "10.0.0.0/8"}, false},
		{"but their network does", open, "svc.internal", "169.254.169.254", []string{"169.254.169.254"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.names[tt.host] = []string{tt.leads}
			w.private = tt.operator
			w.call(`  - {name: x, http: {`+tt.file+`retries: 0, url: "http://`+tt.host+`/"}, parameters: {type: object}}`, `{}`)
			if reached := len(w.dialled) > 0; reached != tt.reached {
				t.Errorf("dialled %v", w.dialled)
			}
		})
	}
}

// TestNobodyOpensTheCredentialsOfACloudByTheWay: a name does not, a network around them does not,
// only the address itself.
func TestNobodyOpensTheCredentialsOfACloudByTheWay(t *testing.T) {
	for _, address := range []string{"169.254.169.254", "fd00:ec2::254", "169.254.170.2", "169.254.170.23", "fd00:ec2::23", "fd20:ce::254", "168.63.129.16",
		"100.100.100.200", "192.0.0.192", "fd00:42::42"} {
		a := netip.MustParseAddr(address)
		wide, err := a.Prefix(a.BitLen() - 8)
		if err != nil {
			t.Fatal(err)
		}
		at := netip.AddrPortFrom(a, 80)
		for entry, open := range map[string]bool{"svc.internal": false, wide.String(): false, "0.0.0.0/0": false, "::/0": false, "fd00::/8": false,
			"100.64.0.0/10": false, address: true, at.String(): true} {
			for _, host := range []string{"svc.internal", strings.TrimSuffix(at.String(), ":80")} {
				w := newWorld(t)
				w.names["svc.internal"], w.private = []string{address}, []string{entry}
				tool := `  - {name: x, http: {allow_private: true, retries: 0, url: "http://` + host + `/"}, parameters: {type: object}}`
				w.call(tool, `{}`)
				if reached := len(w.dialled) > 0; reached != open {
					t.Errorf("%s with the entry %s, asked as %s: dialled %v", address, entry, host, w.dialled)
				}
			}
		}
	}
}

func TestOneToolsDoorIsNotAnothers(t *testing.T) {
	w := newWorld(t)
	w.names["svc.internal"] = []string{"10.1.2.3"}
	w.private = []string{"svc.internal"}
	w.serve("10.1.2.3:80", answering(200, `"inside"`))
	c := w.caller()
	for range 3 {
		for file, failed := range map[string]bool{"allow_private: true, ": false, "": true} {
			tool, _ := readTool(t, `  - {name: x, http: {`+file+`url: "http://svc.internal/"}, parameters: {type: object}}`)
			if out, err := c.Tool(tool).Run(t.Context(), requestFor(`{}`)); err != nil || out.Failed != failed {
				t.Errorf("%q: outcome %+v, %v", file, out, err)
			}
		}
	}
}
