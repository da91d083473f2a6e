package httpapi

import "net/http"

func (a *api) listAgents(w http.ResponseWriter, r *http.Request) error {
	page, err := a.reads.Agents(r.Context(), caller(r))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, page)
}

func (a *api) readAgent(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.reads.Agent(r.Context(), caller(r), r.PathValue("name"))
	if err != nil {
		return err
	}
	return a.writeJSON(w, r, http.StatusOK, agent)
}
