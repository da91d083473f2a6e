package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	_ "time/tzdata" // not every machine has the database of time zones

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
)

// Times implements [core.Rules].
func (r *Rules) Times(p *vote.Policy, stage int, now int64) core.Times {
	c, err := clockOf(p.Hours)
	times := core.TimesOf(p, stage, func(ms int64) int64 { return c.after(now, ms) })
	// of a definition that another program stored: its deadline would pass too early
	if err != nil {
		times.Deadline = 0
	}
	return times
}

// Silent are the policies of the agent that approve a call if no one answers.
func (d Definition) Silent() (all []*vote.Policy) {
	policies := []*vote.Policy{d.Approval}
	for _, rule := range d.Permissions.Ask {
		policies = append(policies, rule.Approval)
	}
	for _, p := range policies {
		if p.Silence() && !slices.ContainsFunc(all, func(o *vote.Policy) bool { return o.Name == p.Name }) {
			all = append(all, p)
		}
	}
	return all
}

// clock tells when a time has passed that counts only while people work.
type clock struct {
	hours vote.Hours
	zone  *time.Location // nil: all time counts
}

// CheckHours says what is wrong with hours; nil if nothing is.
func CheckHours(h vote.Hours) error {
	_, err := clockOf(&h)
	return err
}

func clockOf(h *vote.Hours) (clock, error) {
	if h == nil {
		return clock{}, nil
	}
	zone, err := time.LoadLocation(h.Zone)
	switch {
	case err != nil || h.Zone == "" || h.Zone == "Local":
		return clock{}, fmt.Errorf("there is no time zone %q; write one as in Europe/Berlin, or UTC", h.Zone)
	case h.From < 0 || h.To > minutesOfDay || h.To-h.From < leastHours:
		return clock{}, fmt.Errorf("from must be at least %d minutes before to, on the same day", leastHours)
	case len(h.Days) == 0 || slices.ContainsFunc(h.Days, func(day int) bool { return day < 0 || day > 6 }):
		return clock{}, errors.New("days is a list of at least one day, such as [mon, tue]")
	}
	return clock{*h, zone}, nil
}

const (
	minutesOfDay = 24 * 60
	leastHours   = 15        // minutes of a day on which people work
	mostDays     = 100 * 366 // that are looked at; a time behind them never comes
)

// after is when ms of the time that counts have passed since now.
//
//	now     Friday 16:00, hours 9 to 17
//	after   1 h: Friday 17:00, 2 h: Monday 10:00
func (c clock) after(now, ms int64) int64 {
	if c.zone == nil {
		return now + ms
	}
	today := time.UnixMilli(now).In(c.zone)
	left := ms
	for day := range mostDays {
		date := time.Date(today.Year(), today.Month(), today.Day()+day, 0, 0, 0, 0, c.zone)
		if !slices.Contains(c.hours.Days, int(date.Weekday())) {
			continue
		}
		from := max(now, minuteOf(date, c.hours.From).UnixMilli())
		open := minuteOf(date, c.hours.To).UnixMilli() - from
		if open >= left && open > 0 {
			return from + left
		}
		left -= max(0, open)
	}
	return math.MaxInt64
}

// minuteOf is a time of day on a date; on a day on which clocks change, what they show then.
func minuteOf(date time.Time, minute int) time.Time {
	return time.Date(date.Year(), date.Month(), date.Day(), 0, minute, 0, 0, date.Location())
}
