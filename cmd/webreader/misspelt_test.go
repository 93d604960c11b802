package main

import (
	"slices"
	"testing"
)

func TestAMisspeltSettingIsTold(t *testing.T) {
	for _, c := range []struct{ name, meant string }{
		{"WEBREADER_TIMOUT", "WEBREADER_TIMEOUT"}, {"WEBREADER_TIMEOUTS", "WEBREADER_TIMEOUT"}, {"WEBREADER_DATABASE_ULR", "WEBREADER_DATABASE_URL"},
		{"WEBREADER_EGRES", "WEBREADER_EGRESS"}, {"WEBREADER-DNS", "WEBREADER_DNS"}, {"WEBREADER_STRIPE_SECRET_KEE", "WEBREADER_STRIPE_SECRET_KEY"},
		{"WEBREADERTIMEOUT", "WEBREADER_TIMEOUT"},
		{"WEBREADER_TIMEOUT", ""}, {"WEBREADER_STRIPE_WEBHOOK_SECRET", ""}, {"WEBREADER_NO_WORKERS", ""}, {"WEBREADER_TEST_POSTGRES", ""}, {"WEBREADER_API_KEY", ""}, {"PATH", ""},
	} {
		got := misspelt([]string{"HOME=/", c.name + "=hush"})
		var want []string
		if c.meant != "" {
			want = []string{"webreader: " + c.name + " is no setting and is ignored; " + c.meant + " is one"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}
