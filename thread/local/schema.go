package local

import "fmt"

// migrations bring a database from version i to i+1 (PRAGMA user_version). Only
// ever append to the list.
var migrations = []string{schemaV1, schemaV2, schemaV3, schemaV4, schemaV5}

// schemaV5 keeps what a run puts in place of the task records of checkpoints before it, so that
// a rollback puts it back.
const schemaV5 = `
ALTER TABLE tasks ADD COLUMN run INTEGER; -- number of the run that stored the record; NULL for none
ALTER TABLE tasks ADD COLUMN replaced BLOB; -- what it replaced, of a run before
`

// schemaV2 keeps the TTL of an item, so that reads can start it anew. Items that
// were stored before got theirs when they were last written.
const schemaV2 = `
ALTER TABLE items ADD COLUMN ttl INTEGER NOT NULL DEFAULT 0; -- microseconds; 0 for forever
UPDATE items SET ttl=max(expires-updated, 1) WHERE expires<>0;
CREATE INDEX items_expires ON items(expires) WHERE expires<>0;
`

// schemaV3 keeps the ends of runs that never began. A log row of run 0 belongs to
// no run, or, where it names one, to a run whose row was removed.
const schemaV3 = `
ALTER TABLE heads ADD COLUMN owed BLOB; -- runs dropped while another was leased: the log is told of them later
ALTER TABLE log ADD COLUMN owner;
`

// schemaV4 keeps reviews, the audit log and API keys. Deliveries tell of reviews,
// too, and stay when they are given up. First runs of executions are found by
// project; "" is the default one. Questions that were asked before have no review.
const schemaV4 = `
CREATE TABLE reviews(
	k INTEGER PRIMARY KEY,
	thread INTEGER NOT NULL,
	interrupt TEXT NOT NULL,   -- its row has the question as it was asked last
	status INTEGER NOT NULL,
	project TEXT NOT NULL,
	workspace TEXT NOT NULL,
	execution TEXT NOT NULL,
	agent TEXT NOT NULL,
	tools TEXT NOT NULL,       -- all names, each between line feeds
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	version INTEGER NOT NULL,
	assignee TEXT NOT NULL,
	claimed INTEGER NOT NULL,  -- until
	expires INTEGER NOT NULL,
	warn INTEGER NOT NULL,
	due INTEGER,               -- of an open one: when it is warned or expires; NULL for never
	role TEXT NOT NULL,
	escalations INTEGER NOT NULL,
	draft TEXT NOT NULL,       -- JSON
	comments TEXT,             -- JSON
	outcome TEXT               -- JSON
);
CREATE INDEX reviews_thread ON reviews(thread);
CREATE INDEX reviews_open ON reviews(project, created) WHERE status=0;
CREATE INDEX reviews_ended ON reviews(project, created) WHERE status<>0;
CREATE INDEX reviews_due ON reviews(due) WHERE due IS NOT NULL;
CREATE TABLE review_ids( -- all that a review ever had
	id BLOB PRIMARY KEY,
	review INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX review_ids_review ON review_ids(review);
ALTER TABLE interrupts ADD COLUMN review INTEGER NOT NULL DEFAULT 0; -- key of its review; 0 for none
ALTER TABLE heads ADD COLUMN cancelled_by TEXT; -- who marked the running run, JSON

CREATE TABLE audit( -- rows are only ever added
	k INTEGER PRIMARY KEY,
	project TEXT NOT NULL,
	seq INTEGER NOT NULL,
	seal BLOB NOT NULL,
	thread NOT NULL,           -- id; '' for none
	thread_seq INTEGER NOT NULL,
	at INTEGER NOT NULL,
	prev BLOB NOT NULL,
	hash BLOB NOT NULL,
	body TEXT NOT NULL,
	chain INTEGER              -- key of the thread while it exists
);
CREATE UNIQUE INDEX audit_seq ON audit(project, seq);
CREATE UNIQUE INDEX audit_chain ON audit(chain, thread_seq) WHERE chain IS NOT NULL;

CREATE TABLE api_keys(
	id TEXT PRIMARY KEY,
	project TEXT NOT NULL,
	created INTEGER NOT NULL,
	revoked INTEGER NOT NULL,
	doc TEXT NOT NULL          -- JSON
);

ALTER TABLE runs ADD COLUMN project TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_executions ON runs(project, created) WHERE execution=id;

ALTER TABLE outbox ADD COLUMN event TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN interrupt TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN dead INTEGER NOT NULL DEFAULT 0;
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox(due) WHERE dead=0;
CREATE INDEX outbox_dead ON outbox(due) WHERE dead=1;
`

// schemaV1: times are microseconds since the epoch, 0 for none. Keys named k
// are integers of this database; see keys.go for how they are made.
const schemaV1 = `
CREATE TABLE settings(
	name TEXT PRIMARY KEY,
	value NOT NULL
) WITHOUT ROWID;
INSERT INTO settings VALUES('digest_seed', random());

CREATE TABLE threads(
	k INTEGER PRIMARY KEY,
	id NOT NULL UNIQUE,
	created INTEGER NOT NULL,
	metadata TEXT NOT NULL,
	config TEXT,
	temporary INTEGER NOT NULL,
	expires INTEGER, -- NULL for never
	ttl TEXT NOT NULL
);
CREATE INDEX threads_expires ON threads(expires) WHERE expires IS NOT NULL;

-- What changes with each transition of a thread; absent until the first.
CREATE TABLE heads(
	k INTEGER PRIMARY KEY,
	status INTEGER NOT NULL,
	rest INTEGER NOT NULL,      -- status when nothing is inflight
	updated INTEGER NOT NULL,
	state_updated INTEGER NOT NULL,
	error TEXT,
	head NOT NULL,              -- id of the newest root checkpoint
	generation INTEGER NOT NULL,
	next_seq INTEGER NOT NULL,  -- what the next owner starts with; behind the reserved range while a run is leased
	next_pos INTEGER NOT NULL,
	start_seq INTEGER NOT NULL, -- what the present owner started with
	start_pos INTEGER NOT NULL,
	token INTEGER NOT NULL,
	running INTEGER NOT NULL,   -- number of the run that has been claimed; 0 for none
	attempt INTEGER NOT NULL,
	lost INTEGER NOT NULL,      -- leases of the run that ran out
	released INTEGER NOT NULL,
	frame_base INTEGER NOT NULL,
	frame_reserved INTEGER NOT NULL,
	cancel TEXT NOT NULL,
	worker TEXT NOT NULL,
	started INTEGER NOT NULL,
	log_from INTEGER NOT NULL,  -- the run's first position
	base NOT NULL,              -- head and rest when the run was claimed
	base_rest INTEGER NOT NULL,
	due INTEGER,                -- when the next claim is possible; NULL when nothing is inflight
	queue BLOB,                 -- pending runs: number and earliest start
	runs INTEGER NOT NULL,      -- number of the newest run
	checkpoints INTEGER NOT NULL, -- number of the newest checkpoint
	open INTEGER NOT NULL,      -- pending interrupts
	asked INTEGER NOT NULL,     -- number of the run that raised the generation
	suspended INTEGER NOT NULL, -- number of the last run of the suspended execution
	ended INTEGER NOT NULL,
	last_commit TEXT NOT NULL
);
CREATE INDEX heads_due ON heads(due) WHERE due IS NOT NULL;
CREATE INDEX heads_waiting ON heads(k) WHERE status = 2;

-- Metadata of threads that can be found: digest of key and scalar value, 0 for every thread.
CREATE TABLE thread_meta(
	digest INTEGER NOT NULL,
	created INTEGER NOT NULL,
	thread INTEGER NOT NULL,
	PRIMARY KEY(digest, created, thread)
) WITHOUT ROWID;

CREATE TABLE runs(
	k INTEGER PRIMARY KEY, -- thread, number
	id NOT NULL UNIQUE,
	status INTEGER NOT NULL, -- a running run reads as pending here; see heads.running
	execution NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	started INTEGER NOT NULL,
	ended INTEGER NOT NULL,
	not_before INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	cancel TEXT NOT NULL,
	suspended INTEGER NOT NULL,
	error TEXT,
	base NOT NULL,
	log_from INTEGER NOT NULL, -- position of the run's first log entry; 0 for none
	retire INTEGER,            -- when the execution ended: retention of the log counts from here
	fingerprint TEXT NOT NULL,
	last_commit TEXT NOT NULL,
	doc TEXT NOT NULL          -- what never changes, JSON
);
CREATE INDEX runs_retire ON runs(retire) WHERE retire IS NOT NULL;

CREATE TABLE idempotency(
	thread INTEGER NOT NULL,
	key TEXT NOT NULL,
	run INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	PRIMARY KEY(thread, key)
) WITHOUT ROWID;

CREATE TABLE checkpoints(
	k INTEGER PRIMARY KEY, -- thread, stored sequence
	id NOT NULL,
	parent NOT NULL,
	ns TEXT NOT NULL,
	run NOT NULL,
	step INTEGER NOT NULL,
	source TEXT NOT NULL,
	at INTEGER NOT NULL,
	metadata TEXT NOT NULL,
	state BLOB NOT NULL
);
CREATE INDEX checkpoints_id ON checkpoints(id);
CREATE INDEX checkpoints_nested ON checkpoints(ns, k) WHERE ns <> '';

CREATE TABLE tasks(
	thread INTEGER NOT NULL,
	checkpoint NOT NULL,
	task NOT NULL,
	ns TEXT NOT NULL,
	doc BLOB NOT NULL,
	PRIMARY KEY(thread, checkpoint, task)
) WITHOUT ROWID;

CREATE TABLE interrupts(
	thread INTEGER NOT NULL,
	id TEXT NOT NULL,
	status INTEGER NOT NULL,
	ns TEXT NOT NULL,
	checkpoint NOT NULL,
	task NOT NULL,
	run NOT NULL,
	generation INTEGER NOT NULL,
	created INTEGER NOT NULL,
	value TEXT,
	schema TEXT,
	answer TEXT,
	answered_by TEXT NOT NULL DEFAULT '',
	answered_at INTEGER NOT NULL DEFAULT 0,
	answer_run NOT NULL DEFAULT '',
	fingerprint TEXT NOT NULL DEFAULT '',
	PRIMARY KEY(thread, id)
) WITHOUT ROWID;

CREATE TABLE steps(
	thread INTEGER NOT NULL,
	origin TEXT NOT NULL,
	name TEXT NOT NULL,
	occurrence INTEGER NOT NULL,
	doc BLOB NOT NULL,
	PRIMARY KEY(thread, origin, name, occurrence)
) WITHOUT ROWID;

CREATE TABLE blobs(
	k INTEGER PRIMARY KEY,
	thread INTEGER NOT NULL,
	id TEXT NOT NULL,
	data BLOB NOT NULL,
	UNIQUE(thread, id)
);

CREATE TABLE segments(
	k INTEGER PRIMARY KEY,
	thread INTEGER NOT NULL,
	id TEXT NOT NULL,
	base TEXT NOT NULL,
	base_len INTEGER NOT NULL,
	UNIQUE(thread, id)
);
CREATE TABLE segment_entries(
	k INTEGER PRIMARY KEY, -- segment, position
	data TEXT NOT NULL
);

CREATE TABLE log(
	k INTEGER PRIMARY KEY, -- thread, first position
	last INTEGER NOT NULL,     -- last position
	first_seq INTEGER NOT NULL, -- first and last seq in the batch; 0 for none
	last_seq INTEGER NOT NULL,
	run INTEGER NOT NULL,      -- number of the run
	data BLOB NOT NULL
);

CREATE TABLE assistants(
	id TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	graph TEXT NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL
);
CREATE TABLE assistant_versions(
	assistant TEXT NOT NULL,
	version INTEGER NOT NULL,
	created INTEGER NOT NULL,
	doc TEXT NOT NULL,
	PRIMARY KEY(assistant, version)
);

CREATE TABLE items(
	namespace TEXT NOT NULL, -- labels joined by a separator that sorts below all others
	key TEXT NOT NULL,
	value TEXT NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	PRIMARY KEY(namespace, key)
);

CREATE TABLE crons(
	id TEXT PRIMARY KEY,
	assistant TEXT NOT NULL,
	thread TEXT NOT NULL,
	enabled INTEGER NOT NULL,
	next INTEGER NOT NULL,
	created INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	doc TEXT NOT NULL
);
CREATE INDEX crons_next ON crons(next) WHERE enabled = 1;

CREATE TABLE outbox(
	id TEXT PRIMARY KEY,
	thread TEXT NOT NULL,
	run TEXT NOT NULL,
	url TEXT NOT NULL,
	attempt INTEGER NOT NULL,
	due INTEGER NOT NULL,
	error TEXT NOT NULL
);
CREATE INDEX outbox_due ON outbox(due);
CREATE INDEX outbox_thread ON outbox(thread);
`

// migrate brings the schema to the newest version; a newer one is refused.
func migrate(c *conn) error { return migrateBy(c, migrations) }

func migrateBy(c *conn, migrations []string) error {
	var version int64
	if _, err := c.one(func(r *rows) { version = r.int(0) }, "PRAGMA user_version"); err != nil {
		return err
	}
	if int(version) > len(migrations) {
		return fmt.Errorf("the data is of version %d; this program knows up to %d", version, len(migrations))
	}
	for v := int(version); v < len(migrations); v++ {
		step := fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA user_version=%d; COMMIT", migrations[v], v+1)
		if err := c.run(step); err != nil {
			_ = c.run("ROLLBACK") // the first error is the one that matters
			return fmt.Errorf("migrate to version %d: %w", v+1, err)
		}
	}
	return nil
}
