-- Messages of Slack apps that ask for a decision, so that they can be changed when there is one.

CREATE TABLE posted (
	tenant TEXT NOT NULL, run TEXT NOT NULL, target TEXT NOT NULL, suspension TEXT NOT NULL, gone INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, run, target, suspension)
) WITHOUT ROWID;
CREATE INDEX posted_gone ON posted (gone);
