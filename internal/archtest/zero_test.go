package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
	"github.com/webreaderapi/webreader/reader"
)

// Zero values are safe: they refuse, they open nothing, they are worth nothing, they are ours to mend.

func TestZeroVerdictRefuses(t *testing.T) {
	var v policy.Verdict
	if v.Allowed() {
		t.Error("the zero Verdict allows")
	}
	if v.Permit().ValidAt(time.Time{}) || !v.Permit().Target().IsZero() {
		t.Error("the zero Verdict carries a permit")
	}
}

func TestZeroPermitOpensNothing(t *testing.T) {
	var p policy.Permit
	for _, now := range []time.Time{{}, time.Unix(0, 0), time.Now()} {
		if p.ValidAt(now) {
			t.Errorf("the zero Permit is valid at %v", now)
		}
	}
}

func TestZeroReceiptIsWorthNothing(t *testing.T) {
	var r reader.Receipt
	if r.Outcome() == reader.Delivered || r.Units() != 0 {
		t.Errorf("the zero Receipt says %q, %d units", r.Outcome(), r.Units())
	}
}

func TestZeroStandingIsNotGood(t *testing.T) {
	var s policy.Standing
	if s == policy.StandingGood {
		t.Error("an unknown account is in good standing")
	}
}

func TestZeroFaultIsInternal(t *testing.T) {
	var k fault.Kind
	if k != fault.Internal || fault.Of(os.ErrClosed) != fault.Internal {
		t.Error("an unknown failure is not internal")
	}
}

// Each kind of failure has a page that a problem's type leads to.
func TestEveryFaultHasAPage(t *testing.T) {
	for _, k := range fault.Kinds() {
		name := filepath.Join("docs", "errors", k.String()+".md")
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Errorf("%s is missing", name)
			continue
		}
		if !strings.HasPrefix(string(src), "# ") || !strings.Contains(string(src), k.String()) {
			t.Errorf("%s has no heading or does not name its code", name)
		}
	}
}
