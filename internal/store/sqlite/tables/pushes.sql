-- Endpoints that clients of A2A have added to their tasks.

CREATE TABLE pushes (
	tenant TEXT NOT NULL, task TEXT NOT NULL, rev INTEGER NOT NULL, gone INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (tenant, task)
) WITHOUT ROWID;
CREATE INDEX pushes_gone ON pushes (gone);
