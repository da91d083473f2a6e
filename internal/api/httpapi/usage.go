package httpapi

import (
	"net/http"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
	"github.com/dormouse-dev/dormouse/internal/frontend/ops"
	"github.com/dormouse-dev/dormouse/internal/frontend/refusal"
)

// deskRoutes are for those who look after a tenant, and about themselves.
func (a *api) deskRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/me", name: "readMe", tag: "agents", title: "Read who the caller is", roles: access.Roles(),
			about:   "Returns the caller's name, roles and groups, the agents that the caller may start, and what pages call the tenant. Any role suffices.",
			answers: []answered{answers(200, wire.Me{}, "The caller, as the server knows it now.")}, serve: a.readMe},
		{method: http.MethodGet, path: "/v1/ops", name: "readOps", tag: "agents", title: "Read how the work is going", roles: []access.Role{access.Read, access.Webhooks},
			about: "Returns how many calls wait, how many of them are due within 4 hours, runs of the last 24 hours and those that failed, dead deliveries, disabled endpoints, " +
				"and today's budgets. `oldest_since` and `budgets` are exact. Other counts stop after 500 entries and then have `at_least`. Nothing is kept for it: hours are counted from what is stored.",
			answers: []answered{answers(200, wire.Ops{}, "The numbers at this moment.")}, serve: a.readOps},
		{method: http.MethodGet, path: "/v1/usage", name: "readUsage", tag: "agents", title: "Read what a day's runs used", roles: canRead,
			about:   "Sums the tokens and the cost of the runs that started on one day of UTC, by agent. A run counts with everything that it has used so far. The server reads all runs of the day.",
			params:  []param{inQuery("day", "A date, such as `2026-11-25`. The default is today.")},
			answers: []answered{answers(200, wire.DayUsage{}, "The sums at this moment.")},
			codes:   []refusal.Code{refusal.CodeInvalid}, serve: a.readUsage},
	}
}

func (a *api) readMe(w http.ResponseWriter, r *http.Request) error {
	me, err := a.reads.Me(r.Context(), caller(r))
	if err != nil {
		return err
	}
	me.Name, me.TenantName = principal(r).Name, a.names.TenantName(me.Tenant)
	return a.writeJSON(w, r, http.StatusOK, me)
}

func (a *api) readOps(w http.ResponseWriter, r *http.Request) error {
	now, err := ops.New(a.front, a.webhooks).Read(r.Context(), caller(r))
	return a.shown(w, r, now, err)
}

func (a *api) readUsage(w http.ResponseWriter, r *http.Request) error {
	usage, err := a.reads.Usage(r.Context(), caller(r), r.URL.Query().Get("day"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, usage)
}
