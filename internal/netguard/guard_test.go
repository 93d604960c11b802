package netguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
)

func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestFirstAndLastOfEveryBlockAreRefused(t *testing.T) {
	if len(special) < 45 {
		t.Fatalf("only %d blocks were read", len(special))
	}
	for _, b := range special {
		for _, a := range []netip.Addr{b.prefix.Masked().Addr(), last(b.prefix)} {
			if notPublic(a) == nil {
				t.Errorf("%v of %v (%s) passes", a, b.prefix, b.why)
			}
		}
		if b.prefix.Masked() != b.prefix {
			t.Errorf("%v has host bits set", b.prefix)
		}
	}
}

// The neighbours of the blocks, written out: a block that reaches too far refuses real sites.
func TestNeighboursOfTheBlocksArePublic(t *testing.T) {
	for _, s := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.1.255", "192.0.3.0",
		"192.31.195.255", "192.31.197.0", "192.52.192.255", "192.52.194.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0",
		"192.175.47.255", "192.175.49.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0",
		"223.255.255.255", "168.63.129.15", "168.63.129.17",
		"2000::", "2001:200::", "2001:db7:ffff::1", "2001:db9::", "2001:ffff::1", "2003::", "2620:4f:7fff::1", "2620:4f:8001::", "3ffe:ffff::1", "3fff:1000::",
	} {
		if err := notPublic(netip.MustParseAddr(s)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"1fff:ffff::1", "4000::", "6000::1", "8000::1", "::2", "::ffff:8.8.8.8", "::8.8.8.8", "fe00::1", "100:0:0:2::1"} {
		if notPublic(netip.MustParseAddr(s)) == nil {
			t.Errorf("%s passes", s)
		}
	}
}

// Each would reach a machine of ours, or might, if its spelling were believed.
var badForms = []string{
	"localhost:80", "LOCALHOST:80", "localhost.:80", "a.localhost:80", "intranet:80", "printer.local:80", "db.internal:443", "metadata.google.internal:80",
	"router.home.arpa:80", "x.localdomain:80", "x.onion:80", "x.invalid:80", "ip6-localhost:80", "broadcasthost:80",
	"127.0.0.1:80", "127.1:80", "127.0.1:80", "127.255.255.254:80", "2130706433:80", "0x7f000001:80", "0x7f.0.0.1:80", "0x7f.1:80", "0177.0.0.1:80",
	"017700000001:80", "127.0.0.1.:80", "0:80", "0.0.0.0:80", "00000:80", "127.0.0.01:80", "127.000.000.001:80", "1.2.3.4.5:80", "1.2.3:80", "256.1.1.1:80",
	"192.168.1.256:80", "10.0.0.1:80", "10.255.255.255:80", "172.16.0.1:80", "172.31.255.255:443", "192.168.0.1:80", "169.254.169.254:80", "169.254.170.2:80",
	"100.64.0.1:80", "100.100.100.200:80", "192.0.0.192:80", "192.0.2.1:80", "198.18.0.1:80", "198.51.100.7:80", "203.0.113.9:80", "168.63.129.16:80",
	"224.0.0.1:80", "239.255.255.250:80", "240.0.0.1:80", "255.255.255.255:80",
	"[::]:80", "[::1]:80", "[0:0:0:0:0:0:0:1]:80", "[0000::0001]:80", "[::ffff:127.0.0.1]:80", "[::ffff:7f00:1]:80", "[::ffff:8.8.8.8]:80", "[::FFFF:10.0.0.1]:80",
	"[::127.0.0.1]:80", "[::7f00:1]:80", "[::ffff:0:127.0.0.1]:80", "[64:ff9b::127.0.0.1]:80", "[64:ff9b::7f00:1]:80", "[64:ff9b::808:808]:80",
	"[64:ff9b:1::127.0.0.1]:80", "[64:ff9b:1:ffff::1]:80", "[2002:7f00:1::]:80", "[2002:a00:1::1]:80", "[2002:c0a8:101::1]:80", "[2001::1]:80",
	"[2001:0:7f00:1::]:80", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]:80", "[2001:2::1]:80", "[2001:10::1]:80", "[2001:20::1]:80", "[2001:db8::1]:80",
	"[3fff::1]:80", "[3fff:fff::1]:80", "[5f00::1]:80", "[100::1]:80", "[100:0:0:1::1]:80", "[fc00::1]:80", "[fd00:ec2::254]:80", "[fdff::1]:443", "[fe80::1]:80", "[fe80::1%eth0]:80",
	"[fe80::1%25eth0]:80", "[::1%lo]:80", "[2606:4700::1%eth0]:80", "[febf::1]:80", "[fec0::1]:80", "[feff::1]:80", "[ff02::1]:80", "[ff0e::1]:80",
	"[4000::1]:80", "[2620:4f:8000::1]:80",
	"1.1.1.1:22", "1.1.1.1:25", "1.1.1.1:8080", "1.1.1.1:6379", "1.1.1.1:0", "1.1.1.1:65536", "1.1.1.1:", "1.1.1.1:http", "1.1.1.1", "[2606:4700::1111]:8443",
	"[site.example]:80", "site.example%00:80", "site..example:80", ".site.example:80", "-", ":80", "a b.example:80", "user@site.example:80", "site.example/x:80",
	"xn--\u00fc.example:80", "ⓛocalhost:80", "127。0。0。1:80", "１２７.0.0.1:80",
}

func TestOddFormsAreRefusedBeforeAnySocket(t *testing.T) {
	if len(badForms) < 100 {
		t.Fatalf("only %d forms", len(badForms))
	}
	d, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	d.lookup = func(context.Context, string) ([]netip.Addr, error) {
		t.Error("the resolver was asked")
		return nil, nil
	}
	d.socket = func(a netip.AddrPort) { t.Errorf("a socket connects to %v", a) }
	for _, form := range badForms {
		if _, err := d.Dial(t.Context(), "", form); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %v, want ErrNotAllowed", form, err)
		}
	}
}

func TestPublicNamesAndAddressesResolve(t *testing.T) {
	d, _ := New(Config{})
	d.lookup = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("2606:4700::1111")}, nil
	}
	for _, form := range []string{"site.example:80", "SITE.example.:443", "a_b.site.example:443", "8.8.8.8:80", "[2606:4700::1111]:443", "xn--bcher-kva.example:443"} {
		if _, err := d.Resolve(t.Context(), form); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
}

func TestOneBadAnswerRefusesAll(t *testing.T) {
	good := []string{"1.1.1.1", "2606:4700::1111", "8.8.8.8"}
	for _, bad := range []string{"127.0.0.1", "10.1.1.1", "169.254.169.254", "fd00::1", "::1", "64:ff9b::a00:1", "2002:a00:1::"} {
		for at := range len(good) + 1 {
			answers := make([]netip.Addr, 0, 4)
			for i, g := range good {
				if i == at {
					answers = append(answers, netip.MustParseAddr(bad))
				}
				answers = append(answers, netip.MustParseAddr(g))
			}
			if at == len(good) {
				answers = append(answers, netip.MustParseAddr(bad))
			}
			d, _ := New(Config{})
			d.lookup = func(context.Context, string) ([]netip.Addr, error) { return answers, nil }
			if _, err := d.Resolve(t.Context(), "site.example:443"); !errors.Is(err, ErrNotAllowed) {
				t.Errorf("%v: %v", answers, err)
			}
		}
	}
}

func TestOwnAddressesAreRefused(t *testing.T) {
	g := guard{own: []netip.Addr{netip.MustParseAddr("8.8.4.4")}}
	if g.judge("site.example", 443, netip.MustParseAddr("8.8.4.4")) == nil {
		t.Error("our own address passes")
	}
}

func TestAllowedNetworksOpenEveryPortAndNameAndNothingElse(t *testing.T) {
	d, err := New(Config{
		AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		Resolve: []Mapping{
			{Pattern: "*", Addr: netip.MustParseAddr("127.0.0.1"), Port: 8081}, {Pattern: "bad.example", Addr: netip.MustParseAddr("10.0.0.1")},
			{Pattern: "*.out.example", Addr: netip.MustParseAddr("8.8.8.8")}, {Pattern: "*.deep.out.example", Addr: netip.MustParseAddr("127.0.0.9")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for form, want := range map[string]string{
		"any:6379": "127.0.0.1:8081", "localhost:80": "127.0.0.1:8081", "127.0.0.1:9": "127.0.0.1:9", "[fd00::7]:1234": "[fd00::7]:1234",
		"x.deep.out.example:99": "127.0.0.9:99", "a.out.example:443": "8.8.8.8:443", "8.8.8.8:80": "8.8.8.8:80",
		"bad.example:80": "", "a.out.example:8443": "", "10.0.0.1:80": "", "[::1]:80": "", "[::ffff:127.0.0.1]:80": "", "8.8.8.8:81": "",
	} {
		sites, err := d.Resolve(t.Context(), form)
		switch {
		case want == "" && !errors.Is(err, ErrNotAllowed):
			t.Errorf("%s: %v %v, want refused", form, sites, err)
		case want != "" && (err != nil || sites[0].String() != want):
			t.Errorf("%s: %v %v, want %s", form, sites, err, want)
		}
	}
}

func TestTheSocketsRealAddressIsJudgedAgain(t *testing.T) {
	d, _ := New(Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	for real, judged := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:81", "127.0.0.2:80": "127.0.0.2:80", "10.0.0.1:80": "1.1.1.1:80", "[::ffff:1.1.1.1]:80": "[::ffff:1.1.1.1]:80",
	} {
		if err := d.recheck(real, netip.MustParseAddrPort(judged)); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("socket %s for judged %s: %v", real, judged, err)
		}
	}
	if err := d.recheck("1.1.1.1:443", netip.MustParseAddrPort("1.1.1.1:443")); err != nil {
		t.Error(err)
	}
}

func TestAClosedPortIsNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	d, _ := New(Config{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if _, err := d.Dial(t.Context(), "", addr); !errors.Is(err, ErrConnect) || errors.Is(err, ErrNotAllowed) {
		t.Errorf("%v", err)
	}
}
