package watch

import (
	"strings"
	"time"

	"github.com/webreaderapi/webreader/internal/fault"
	"github.com/webreaderapi/webreader/policy"
)

// planned is the profile's schedule with the watch's cron in it.
func (s Schedule) planned(p *policy.Profile) policy.Schedule {
	planned := p.Schedule
	if s.Cron != "" {
		planned.Cron, planned.TimeZone = s.Cron, s.TimeZone
	}
	if planned.TimeZone == "" {
		planned.TimeZone = "UTC"
	}
	return planned
}

// Check is nil, or a fault that says what is wrong with the schedule.
func (s Schedule) Check(p *policy.Profile) error {
	bad := func(name, detail string) error {
		return &fault.Error{Kind: fault.InvalidRequest, Detail: "The schedule cannot be used: " + detail,
			Fields: []fault.Field{{Name: name, Detail: detail}}}
	}
	if s.Cron == "" {
		if p.Schedule.Scheduled() {
			return nil
		}
		return bad("schedule", "this profile has no rounds of its own; give a cron expression such as \"0 6 * * 1-5\"")
	}
	if _, err := time.LoadLocation(s.TimeZone); err != nil || s.TimeZone == "Local" {
		return bad("schedule.time_zone", "it is no time zone; write it like Europe/Amsterdam")
	}
	if len(strings.Fields(s.Cron)) != 5 || len(s.Cron) > 100 || s.Next(p, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nil).IsZero() {
		return bad("schedule.cron", "it is no cron expression of five fields that ever comes; write it like 0 6 * * 1-5")
	}
	return nil
}

// mostTicks is how many ticks of a cron expression are looked at for one that the profile lets through:
// a fortnight of every minute.
const mostTicks = 14 * 24 * 60

// Next is when the first round after t is due; zero is never. A cron expression that comes more often
// than the profile promises has its later ticks of a day left out; begun are the rounds of the last
// two days.
func (s Schedule) Next(p *policy.Profile, t time.Time, begun []time.Time) time.Time {
	planned := s.planned(p)
	for range mostTicks {
		t = planned.Next(t)
		if t.IsZero() || Left(p, t, begun) > 0 {
			return t.UTC()
		}
	}
	return time.Time{}
}

// Left is how many more rounds may begin on the day of t, when begun are those that did.
func Left(p *policy.Profile, t time.Time, begun []time.Time) int {
	if p.Schedule.Rounds == (policy.Rounds{}) {
		return 1
	}
	zone, err := time.LoadLocation(p.Schedule.TimeZone)
	if err != nil {
		return 0
	}
	day := t.In(zone)
	left := p.Schedule.Rounds.On(day.Weekday())
	for _, b := range begun {
		if sameDay(b.In(zone), day) {
			left--
		}
	}
	return left
}

// today is when the profile's day of now began, and how many rounds it has; 0 is any number.
func today(p *policy.Profile, now time.Time) (began time.Time, rounds int) {
	zone, err := time.LoadLocation(p.Schedule.TimeZone)
	if err != nil || p.Schedule.Rounds == (policy.Rounds{}) {
		return time.Time{}, 0
	}
	y, m, d := now.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone), p.Schedule.Rounds.On(now.In(zone).Weekday())
}

func sameDay(a, b time.Time) bool { return a.YearDay() == b.YearDay() && a.Year() == b.Year() }
