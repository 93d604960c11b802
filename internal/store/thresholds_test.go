package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/webreaderapi/webreader/billing"
)

// A customer hears of 80 and 100 percent once, again when what the account may use was raised and is used
// up anew, and again next month; never of what a lower cap makes of a share told before.
func TestThresholdsAreToldOnceForEachCeiling(t *testing.T) {
	withClock(t, func(t *testing.T, s *Store, clock *testClock) {
		account, _, _ := customer(t, s, "shop")
		use := func(units int) {
			for range units {
				h := must[billing.Hold](t)(s.Hold(t.Context(), order(account)))
				noError(t, s.Settle(t.Context(), h, delivered()))
			}
		}
		events := map[string]bool{}
		told := func() (list []string) {
			noError(t, s.Cross(t.Context()))
			for _, c := range must[[]billing.Threshold](t)(s.ClaimThresholds(t.Context(), 20)) {
				if events[c.Event] {
					t.Errorf("%+v has the id of an earlier event", c)
				}
				events[c.Event] = true
				noError(t, s.ThresholdDone(t.Context(), c.Event))
				list = append(list, fmt.Sprintf("%d%% of %d at %d", c.Percent, c.Ceiling, c.Charged))
			}
			return list
		}
		mayUse := func(units int64) {
			limit := &units
			must[billing.Account](t)(s.ChangeAccount(t.Context(), account.ID, billing.Change{SpendingCap: &limit}))
		}
		for i, step := range []struct {
			cap  int64
			use  int
			want []string
		}{
			{10, 7, nil},
			{10, 1, []string{"80% of 10 at 8"}},
			{10, 1, nil},
			{10, 1, []string{"100% of 10 at 10"}},
			{10, 0, nil},
			{20, 0, nil}, // half of it is left
			{20, 5, nil},
			{20, 1, []string{"80% of 20 at 16"}},
			{18, 0, nil}, // told of a higher one
			{16, 0, []string{"100% of 16 at 16"}},
			{20, 0, nil},
			{20, 4, []string{"100% of 20 at 20"}},
			{100, 80, []string{"100% of 100 at 100"}}, // at once: the higher share alone
		} {
			mayUse(step.cap)
			use(step.use)
			if got := told(); !slices.Equal(got, step.want) {
				t.Errorf("step %d: told %q, want %q", i, got, step.want)
			}
		}
		clock.advance(31 * 24 * time.Hour)
		use(80)
		if got := told(); !slices.Equal(got, []string{"80% of 100 at 80"}) {
			t.Errorf("next month: %q", got)
		}
	})
}
