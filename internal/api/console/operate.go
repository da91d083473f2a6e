package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend"
	"github.com/dormouse-dev/dormouse/internal/frontend/webhooks"
)

// Numbers say how the work goes. Its contract is that of the desk of package ops.
type Numbers interface {
	Read(ctx context.Context, c frontend.Caller) (wire.Ops, error)
}

// Deliveries are notices for endpoints. Its contracts are those of [webhooks.Desk].
type Deliveries interface {
	Deliveries(ctx context.Context, c frontend.Caller, q webhooks.Query) (wire.Page[wire.Delivery], error)
	Delivery(ctx context.Context, c frontend.Caller, id string) (wire.Delivery, error)
	Redrive(ctx context.Context, c frontend.Caller, id string) (wire.Delivery, error)
}

var (
	canOperate = []access.Role{access.Read, access.Webhooks}
	// dead notices say what runs are about, and to whom
	canRedrive = []access.Role{access.Webhooks}
)

type operateView struct {
	At      time.Time
	Numbers []numberView
	Budgets []budgetView
}

// numberView is a number, and the list that it counts.
type numberView struct {
	Name, Number, Path, About string
	Alarm                     bool
	Plot                      []barView // by hour; nil: there is none
}

// barView is a bar of a plot that is 96 wide and 24 high.
type barView struct{ X, Y, Height int }

type budgetView struct {
	Agent, Text string
	Part        int // of 100
	Alarm       bool
}

func (c *Console) operate(w http.ResponseWriter, l look) error {
	now, err := c.Numbers.Read(l.Context(), l.Caller())
	if err != nil {
		return err
	}
	v := operateView{At: now.At.Time}
	inbox, runs, dead := "/", "/runs?reason=error", "/operate/dead"
	if !l.who.May(canSee...) {
		inbox = ""
	}
	if !l.who.May(canRead...) {
		runs = ""
	}
	if !l.who.May(canRedrive...) {
		dead = ""
	}
	oldest := say("operate.none")
	if now.OldestSince != nil {
		oldest = inWords(now.At.Sub(now.OldestSince.Time))
	}
	v.Numbers = []numberView{
		plotted(say("operate.waiting"), now.Waiting, inbox, now.Hours, func(h wire.OpsHour) int { return h.Waiting }),
		{Name: say("operate.due"), Number: countOf(now.Due), Path: inbox, Alarm: now.Due.Count > 0, About: say("operate.due_about")},
		{Name: say("operate.oldest"), Number: oldest, Path: inbox},
		plotted(say("operate.failed"), now.Failed, runs, now.Hours, func(h wire.OpsHour) int { return h.Failed }),
		plotted(say("operate.started"), now.Started, pathIf("/runs", runs), now.Hours, func(h wire.OpsHour) int { return h.Started }),
		plotted(say("operate.dead"), now.DeadDeliveries, dead, now.Hours, func(h wire.OpsHour) int { return h.Dead }),
		{Name: say("operate.disabled"), Number: countOf(now.DisabledEndpoints), Alarm: now.DisabledEndpoints.Count > 0},
	}
	v.Numbers[3].Alarm, v.Numbers[5].Alarm = now.Failed.Count > 0, now.DeadDeliveries.Count > 0
	for _, b := range now.Budgets {
		v.Budgets = append(v.Budgets, budgetOf(b))
	}
	return c.write(w, l, http.StatusOK, "operate", v)
}

func pathIf(path, other string) string {
	if other == "" {
		return ""
	}
	return path
}

// countOf is a number; one that may be more says so.
func countOf(n wire.OpsCount) string {
	if n.AtLeast {
		return say("operate.at_least", "n", strconv.Itoa(n.Count))
	}
	return strconv.Itoa(n.Count)
}

// plotted is a number with the bars of its hours. The text says what the bars do.
func plotted(name string, n wire.OpsCount, path string, hours []wire.OpsHour, of func(wire.OpsHour) int) numberView {
	v := numberView{Name: name, Number: countOf(n), Path: path}
	most, at := 0, time.Time{}
	for _, h := range hours {
		if of(h) > most {
			most, at = of(h), h.From.Time
		}
	}
	if most == 0 {
		return v
	}
	v.About = say("operate.peak", "n", strconv.Itoa(most), "time", at.UTC().Format("15:04 UTC"))
	for i, h := range hours {
		if height := (of(h)*24 + most - 1) / most; height > 0 {
			v.Plot = append(v.Plot, barView{X: 4 * i, Y: 24 - height, Height: height})
		}
	}
	return v
}

func budgetOf(b wire.OpsBudget) budgetView {
	v := budgetView{Agent: b.Agent, Text: say("operate.spent", "spent", b.Spent.USD, "limit", b.Limit.USD)}
	spent, _ := strconv.ParseFloat(b.Spent.USD, 64)
	limit, _ := strconv.ParseFloat(b.Limit.USD, 64)
	if limit > 0 {
		v.Part = int(min(spent/limit, 1) * 100)
	}
	v.Alarm = v.Part >= 100 || b.Unpriced > 0
	if b.Unpriced > 0 {
		v.Text += " " + say("operate.unpriced", "n", strconv.Itoa(b.Unpriced))
	}
	return v
}

type deadView struct {
	Rows []deliveryRow
	More string // the address of the next page
}

type deliveryRow struct {
	wire.Delivery
	Path, Age, Error string
}

func (c *Console) dead(w http.ResponseWriter, l look) error {
	page, err := c.Deliveries.Deliveries(l.Context(), l.Caller(), webhooks.Query{Dead: true, Limit: 50, Cursor: l.URL.Query().Get("cursor")})
	if err != nil {
		return err
	}
	v := deadView{}
	for _, d := range page.Items {
		row := deliveryRow{Delivery: d, Path: "/operate/dead/" + url.PathEscape(d.ID)}
		if d.EndedAt != nil {
			row.Age = say("operate.age", "time", ago(c.Clock.Now().Sub(d.EndedAt.Time)))
		}
		if n := len(d.Log); n > 0 {
			row.Error = d.Log[n-1].Error
		}
		v.Rows = append(v.Rows, row)
	}
	if page.Next != "" {
		v.More = "?" + url.Values{"cursor": {page.Next}}.Encode()
	}
	return c.write(w, l, http.StatusOK, "dead", v)
}

type deliveryView struct {
	wire.Delivery
	Form string
	Dead bool
}

// delivery is the page that asks before anything is attempted again.
func (c *Console) delivery(w http.ResponseWriter, l look) error {
	d, err := c.Deliveries.Delivery(l.Context(), l.Caller(), l.PathValue("id"))
	if err != nil {
		return err
	}
	form, err := c.Sessions.FormOf(l.Context(), l.session)
	if err != nil {
		return err
	}
	return c.write(w, l, http.StatusOK, "delivery", deliveryView{Delivery: d, Form: form, Dead: d.State == wire.DeliveryDead})
}

// redrive attempts a dead delivery again, as the API does: sending the form twice has the effect of
// once. What the enter key sends attempts nothing.
func (c *Console) redrive(w http.ResponseWriter, l look) error {
	form, err := c.readForm(w, l)
	if err != nil {
		return err
	}
	id := l.PathValue("id")
	if form.Get("action") == "redrive" {
		if _, err := c.Deliveries.Redrive(l.Context(), l.Caller(), id); err != nil {
			return err
		}
	}
	c.seeOther(w, "/operate/dead/"+url.PathEscape(id))
	return nil
}
