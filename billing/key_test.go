package billing_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/webreaderapi/webreader/billing"
)

func TestAKeyHasPrefixRandomBitsAndChecksum(t *testing.T) {
	form := regexp.MustCompile(`^wr_[a-z2-7]{47}$`)
	seen := map[string]bool{}
	for range 1000 {
		s := billing.NewSecret()
		if !form.MatchString(s.Reveal()) || seen[s.Reveal()] {
			t.Fatalf("key %s", s.Reveal())
		}
		seen[s.Reveal()] = true
		if again, ok := billing.ParseSecret(s.Reveal()); !ok || again.Hash() != s.Hash() || len(s.Hash()) != 64 {
			t.Fatalf("key %s does not parse", s.Reveal())
		}
	}
}

func TestAMistypedKeyIsNoKey(t *testing.T) {
	good := billing.NewSecret().Reveal()
	bad := []string{"", "wr_", good[:49], good + "a", strings.ToUpper(good), " " + good, good + "\n", "sk_" + good[3:],
		strings.Repeat("w", 1<<20)}
	for i := 3; i < len(good); i++ {
		other := byte('a')
		if good[i] == other {
			other = 'b'
		}
		bad = append(bad, good[:i]+string(other)+good[i+1:])
	}
	for _, raw := range bad {
		if _, ok := billing.ParseSecret(raw); ok {
			t.Errorf("%.60q was taken", raw)
		}
	}
}

func TestAKeyHidesItself(t *testing.T) {
	s := billing.NewSecret()
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), fmt.Sprint([]billing.Secret{s}), fmt.Sprint(&s)} {
		if strings.Contains(shown, s.Reveal()[3:20]) {
			t.Errorf("a key prints as %s", shown)
		}
	}
}

func TestShownPartsOfAKey(t *testing.T) {
	s := billing.NewSecret()
	if s.Prefix() != s.Reveal()[:7] || s.Last4() != s.Reveal()[46:] {
		t.Errorf("%s is shown as %s…%s", s.Reveal(), s.Prefix(), s.Last4())
	}
	var zero billing.Secret
	if zero.Prefix() != "" || zero.Last4() != "" {
		t.Error("the zero secret shows something")
	}
}

func TestIDs(t *testing.T) {
	id := billing.NewID("acc")
	if !billing.ValidID("acc", id) || billing.ValidID("key", id) || billing.ValidID("acc", id+"a") || billing.ValidID("acc", "acc_"+strings.Repeat("A", 26)) {
		t.Errorf("id %s", id)
	}
	if id == billing.NewID("acc") {
		t.Error("two ids are one")
	}
}
