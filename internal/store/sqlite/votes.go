package sqlite

import (
	"maps"

	"github.com/dormouse-dev/dormouse/internal/core"
	"github.com/dormouse-dev/dormouse/internal/core/vote"
	"github.com/dormouse-dev/dormouse/internal/engine"
)

// putVote counts a vote if the question is still open. [putSignal] has checked that the call waits
// on the suspension.
const putVote = `INSERT INTO votes (tenant, thread, suspension, voter, say)
	SELECT ?1, ?2, ?3, ?4, ?5
	WHERE (SELECT count(*) FROM votes v WHERE v.tenant = ?1 AND v.thread = ?2 AND v.suspension = ?3 AND v.say = ?6) < ?7
	AND (SELECT count(*) FROM votes v WHERE v.tenant = ?1 AND v.thread = ?2 AND v.suspension = ?3 AND v.say = ?8) < ?9
	AND NOT EXISTS (SELECT 1 FROM votes v WHERE v.tenant = ?1 AND v.thread = ?2 AND v.suspension = ?3 AND v.say = ?10)
	AND NOT EXISTS (SELECT 1 FROM votes v WHERE v.tenant = ?1 AND v.thread = ?2 AND v.suspension = ?3 AND v.voter = ?11 AND v.say <> ?12)
	ON CONFLICT (tenant, thread, suspension, voter) DO NOTHING`

// putMaker notes who made the link that a vote came by.
const putMaker = "INSERT INTO votes (tenant, thread, suspension, voter, say) VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, thread, suspension, voter) DO NOTHING"

// vote counts the request's signal, or removes it again if its vote is not taken. A request without
// a vote is counted.
func (t *tx) vote(req engine.SignalRequest) (counted bool, err error) {
	v := req.Vote
	if v == nil {
		return true, nil
	}
	n, err := t.Exec(putVote, req.Tenant, req.Thread, req.Suspension, v.Voter, int(v.Say),
		int(vote.Yes), v.Need, int(vote.No), v.Deny, int(vote.Edit),
		v.Maker, int(vote.Minted))
	if err == nil && n == 1 && v.Maker != "" {
		_, err = t.Exec(putMaker, req.Tenant, req.Thread, req.Suspension, v.Maker, int(vote.Minted))
	}
	if err != nil || n == 1 {
		return n == 1, err
	}
	return false, t.unstore(req, []string{req.InboxKey})
}

// changeVotes opens and closes the counts of a write, also in the head that it returns.
func (t *tx) changeVotes(h *core.Head, votes map[string]vote.Tally) error {
	const (
		remove = "DELETE FROM votes WHERE tenant = ? AND thread = ? AND suspension = ?"
		add    = "INSERT INTO votes (tenant, thread, suspension, voter, say) VALUES (?, ?, ?, ?, ?)"
	)
	for sus, begin := range votes {
		if begin == nil {
			delete(h.Votes, sus)
			if _, err := t.Exec(remove, h.Tenant, h.Thread, sus); err != nil {
				return err
			}
			continue
		}
		for voter, said := range begin {
			if _, err := t.Exec(add, h.Tenant, h.Thread, sus, voter, int(said)); err != nil {
				return err
			}
		}
		if len(begin) > 0 {
			h.Votes[sus] = maps.Clone(begin)
		}
	}
	return nil
}
