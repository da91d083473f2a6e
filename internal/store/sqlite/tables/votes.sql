-- Votes on the questions that several people decide: who has said what. The worker removes those of a question when it is closed.

CREATE TABLE votes (
	tenant TEXT NOT NULL, thread TEXT NOT NULL, suspension TEXT NOT NULL, voter TEXT NOT NULL, say INTEGER NOT NULL,
	PRIMARY KEY (tenant, thread, suspension, voter)
) WITHOUT ROWID;
