-- What waits, most urgent first: see waits.Urgency and waits.Questions, whose rows of before are counted here in the same way. A head whose
-- calls can't be read is listed last.

ALTER TABLE heads ADD COLUMN urgent TEXT NOT NULL DEFAULT '';
ALTER TABLE heads ADD COLUMN asks INTEGER NOT NULL DEFAULT 0;
UPDATE heads SET
	urgent = coalesce((SELECT printf('%013d', min(c.value ->> 'dl')) FROM json_each(CASE WHEN json_valid(calls) THEN calls ELSE '{}' END) c
		WHERE c.value ->> 'st' = 'suspended' AND coalesce(c.value ->> 'kind', '') <> 'child' AND c.value ->> 'dl' > 0
		HAVING count(*) > 0), '~') || '#' || oldest,
	asks = (SELECT count(*) FROM json_each(CASE WHEN json_valid(calls) THEN calls ELSE '{}' END) c
		WHERE c.value ->> 'st' = 'suspended' AND coalesce(c.value ->> 'kind', '') NOT IN ('child', 'client'))
	WHERE oldest <> '';
CREATE INDEX heads_urgent ON heads (tenant, urgent, thread, asks) WHERE urgent <> '';
