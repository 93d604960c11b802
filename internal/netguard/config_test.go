package netguard

import (
	"strings"
	"testing"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestSettingsOfTheContractAreRead(t *testing.T) {
	c, err := FromEnv(env(EnvAllowNetworks, "127.0.0.0/8, 10.1.2.3/16", EnvResolve, "*.test=127.0.0.1:8081,shop.example=10.0.0.5,*=[::1]:90,six.example=fd00::1",
		EnvDNS, "127.0.0.1:5353", EnvEgress, "nl=socks5://u:p@10.0.0.2:1080,HU=http://proxy.example"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.AllowNetworks) != 2 || c.AllowNetworks[1].String() != "10.1.0.0/16" || len(c.Resolve) != 4 || c.DNS.Port() != 5353 || c.Egress["hu"] == nil || c.Egress["nl"] == nil {
		t.Errorf("%+v", c)
	}
	if m := c.Resolve[2]; m.Pattern != "*" || m.Addr.String() != "::1" || m.Port != 90 {
		t.Errorf("%+v", m)
	}
	if len(c.Warnings()) != 2 {
		t.Errorf("warnings: %v", c.Warnings())
	}
	if none, err := FromEnv(env()); err != nil || len(none.Warnings()) != 0 {
		t.Errorf("empty environment: %v %v", none, err)
	}
}

func TestABadSettingNamesVariableProblemAndExample(t *testing.T) {
	for _, c := range [][2]string{
		{EnvAllowNetworks, "10.0.0.0"}, {EnvAllowNetworks, "10.0.0.0/33"}, {EnvAllowNetworks, "all"}, {EnvAllowNetworks, "::ffff:10.0.0.0/104"},
		{EnvResolve, "a.test"}, {EnvResolve, "=127.0.0.1"}, {EnvResolve, "a.test=other.test"}, {EnvResolve, "a.test=127.0.0.1:99999"}, {EnvResolve, "a*.test=127.0.0.1"},
		{EnvResolve, "a.test="}, {EnvDNS, "9.9.9.9"}, {EnvDNS, "dns.example:53"}, {EnvDNS, "9.9.9.9:0"},
		{EnvEgress, "nl"}, {EnvEgress, "holland=http://x:1"}, {EnvEgress, "nl=ftp://secret:pw@x:1"}, {EnvEgress, "nl=x:1"}, {EnvEgress, "nl=http://x:1,nl=http://y:1"}, {EnvEgress, "nl=http://x:99999"},
	} {
		_, err := FromEnv(env(c[0], c[1]))
		if err == nil {
			t.Errorf("%s=%s is accepted", c[0], c[1])
			continue
		}
		s := err.Error()
		if !strings.HasPrefix(s, c[0]+": ") || !strings.Contains(s, "; write it like ") || strings.Contains(s, "\n") || strings.Contains(s, "secret") {
			t.Errorf("%s=%s: %s", c[0], c[1], s)
		}
	}
}
