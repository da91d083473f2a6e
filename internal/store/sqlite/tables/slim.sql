-- Heads take less room: the keys of the two lists of what waits are numbers where they were texts (see package tables, oldest.go), no index
-- repeats an id, and the body of a run that waits or is done may be packed, as segments are. The rows of before keep their bodies, and
-- their rowids, which put in order what the lists put at the same time. Column at is the body's, for a condition.

CREATE TABLE heads_slim (
	tenant TEXT NOT NULL, thread TEXT NOT NULL,
	run TEXT NOT NULL, agent TEXT NOT NULL, v INTEGER NOT NULL, st INTEGER NOT NULL,
	epoch INTEGER NOT NULL, rev INTEGER NOT NULL, cid INTEGER NOT NULL,
	seq INTEGER NOT NULL, seg INTEGER NOT NULL, ev INTEGER NOT NULL, sigs INTEGER NOT NULL,
	lease INTEGER NOT NULL, claim TEXT NOT NULL, tries INTEGER NOT NULL,
	dl INTEGER NOT NULL, not_before INTEGER NOT NULL, nsus INTEGER NOT NULL, has_end INTEGER NOT NULL,
	oldest NOT NULL, born INTEGER NOT NULL, due INTEGER NOT NULL,
	calls TEXT NOT NULL, timed TEXT NOT NULL, body TEXT NOT NULL,
	urgent INTEGER NOT NULL DEFAULT 0, asks INTEGER NOT NULL DEFAULT 0, at INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, thread)
);
INSERT INTO heads_slim (rowid, tenant, thread, run, agent, v, st, epoch, rev, cid, seq, seg, ev, sigs, lease, claim, tries, dl, not_before,
	nsus, has_end, oldest, born, due, calls, timed, body, urgent, asks, at)
SELECT rowid, tenant, thread, run, agent, v, st, epoch, rev, cid, seq, seg, ev, sigs, lease, claim, tries, dl, not_before, nsus, has_end,
	CASE WHEN oldest = '' THEN 0
		WHEN CAST(substr(oldest, 1, 13) AS INTEGER) > 0 AND oldest = printf('%013d#%s', CAST(substr(oldest, 1, 13) AS INTEGER), run)
			THEN CAST(substr(oldest, 1, 13) AS INTEGER)
		ELSE oldest END,
	born, due, calls, timed, body,
	CASE WHEN urgent = '' THEN 0
		WHEN CAST(substr(urgent, 1, 13) AS INTEGER) > 0 AND substr(urgent, 1, 14) = printf('%013d#', CAST(substr(urgent, 1, 13) AS INTEGER))
			THEN CAST(substr(urgent, 1, 13) AS INTEGER)
		WHEN CAST(substr(urgent, 3, 13) AS INTEGER) > 0 AND substr(urgent, 1, 16) = printf('~#%013d#', CAST(substr(urgent, 3, 13) AS INTEGER))
			THEN 10000000000000 + CAST(substr(urgent, 3, 13) AS INTEGER)
		ELSE urgent END,
	asks, CASE WHEN json_valid(body) THEN coalesce(body ->> '$.at', 0) ELSE 9007199254740991 END
FROM heads ORDER BY rowid;
DROP TABLE heads;
ALTER TABLE heads_slim RENAME TO heads;

CREATE INDEX heads_due ON heads (due) WHERE due > 0;
CREATE INDEX heads_oldest ON heads (tenant, oldest) WHERE oldest <> 0;
CREATE INDEX heads_born ON heads (tenant, born);
CREATE INDEX heads_urgent ON heads (tenant, urgent, asks) WHERE urgent <> 0;

CREATE TRIGGER usage_head AFTER INSERT ON heads BEGIN
	INSERT INTO usage (tenant, bytes, runs) VALUES (new.tenant, 4096, new.st <> 3)
	ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes, runs = runs + excluded.runs;
END;
CREATE TRIGGER usage_status AFTER UPDATE OF st ON heads WHEN (new.st = 3) <> (old.st = 3) BEGIN
	UPDATE usage SET runs = runs + (old.st = 3) - (new.st = 3) WHERE tenant = new.tenant;
END;
