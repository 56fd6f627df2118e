-- Format 6. The names are found in the schema of the store through search_path.
CREATE TABLE retry_meta (key text PRIMARY KEY, value text NOT NULL);
-- Runs. An update logs what is between the first and the last byte that it changes, if the new row is on the same page.
-- So what the claim and the end of a run leave alone comes first, and then what only the claim changes. With less than
-- 70 they would log less, but the runs that have ended would not fill their pages.
CREATE TABLE retry_run (
	kind      smallint    NOT NULL,
	space     text        COLLATE "C" NOT NULL,
	run       text        COLLATE "C" NOT NULL,
	id        text        COLLATE "C" NOT NULL,
	created   timestamptz,
	bucket    date        NOT NULL,
	priority  smallint    NOT NULL,
	attention boolean     NOT NULL,
	handler   text        COLLATE "C" NOT NULL,
	label     text        COLLATE "C" NOT NULL,
	input     bytea,
	fence     bigint      NOT NULL,
	claimed   timestamptz,
	deadline  timestamptz,
	version   bigint      NOT NULL,
	due       timestamptz,
	ended     timestamptz,
	status    smallint    NOT NULL,
	awaited   boolean     NOT NULL,
	owner     text        COLLATE "C" NOT NULL,
	result    bytea,
	body      bytea,
	PRIMARY KEY (space, run, id)
) WITH (fillfactor = 70);
-- Runs that workers claim, in the order in which they do: a sort would read the whole backlog. They are open (1) or
-- parked (5).
CREATE INDEX retry_run_handler   ON retry_run (space, handler, priority DESC, due, run, id)
	WHERE due IS NOT NULL AND handler <> '' AND status IN (1, 5);
-- Runs that are due to be deleted: neither open nor parked. A claim cannot use it, and so not read the backlog of other
-- handlers.
CREATE INDEX retry_run_ended     ON retry_run (space, due)
	WHERE due IS NOT NULL AND status <> 1 AND status <> 5;
CREATE INDEX retry_run_owner     ON retry_run (space, owner)   WHERE owner <> '';
CREATE INDEX retry_run_attention ON retry_run (space, run, id) WHERE attention;
-- Lists in the order of creation, for each handler and status by itself: the first ones of several are sorted, and so
-- are those of the few runs that have an owner: a claim does not write to this index. It and retry_run_ended have no
-- ids, which would be most of their bytes: few runs have one time, at most those of one statement, and they are sorted.
CREATE INDEX retry_run_created   ON retry_run (space, handler, status, created)
	WHERE created IS NOT NULL AND owner = '';
-- Other records, except those of steps. Updates stay on their page (HOT): no index names a column that they change often.
CREATE TABLE retry_record (
	kind      smallint    NOT NULL,
	space     text        COLLATE "C" NOT NULL,
	run       text        COLLATE "C" NOT NULL,
	id        text        COLLATE "C" NOT NULL,
	version   bigint      NOT NULL,
	status    smallint    NOT NULL,
	owner     text        COLLATE "C" NOT NULL,
	fence     bigint      NOT NULL,
	handler   text        COLLATE "C" NOT NULL,
	due       timestamptz,
	attention boolean     NOT NULL,
	bucket    date        NOT NULL,
	body      bytea       NOT NULL,
	label     text        COLLATE "C" NOT NULL,
	priority  smallint    NOT NULL DEFAULT 0,
	created   timestamptz,
	PRIMARY KEY (kind, space, run, id)
) WITH (fillfactor = 70);
CREATE INDEX retry_record_due ON retry_record (kind, space, due) WHERE due IS NOT NULL;
-- Steps, in a partition for each month.
CREATE TABLE retry_step (
	kind      smallint    NOT NULL,
	space     text        COLLATE "C" NOT NULL,
	run       text        COLLATE "C" NOT NULL,
	id        text        COLLATE "C" NOT NULL,
	version   bigint      NOT NULL,
	status    smallint    NOT NULL,
	owner     text        COLLATE "C" NOT NULL,
	fence     bigint      NOT NULL,
	handler   text        COLLATE "C" NOT NULL,
	due       timestamptz,
	attention boolean     NOT NULL,
	bucket    date        NOT NULL,
	body      bytea       NOT NULL,
	label     text        COLLATE "C" NOT NULL,
	priority  smallint    NOT NULL DEFAULT 0,
	created   timestamptz,
	PRIMARY KEY (kind, space, run, id, bucket)
) PARTITION BY RANGE (bucket);
CREATE INDEX retry_step_attention ON retry_step (kind, space, run, id) WHERE attention;
CREATE INDEX retry_step_label     ON retry_step (kind, space, label, run, id) WHERE label <> '';
-- History, and results that are too large for a step.
CREATE TABLE retry_entry (
	kind    smallint    NOT NULL,
	space   text        COLLATE "C" NOT NULL,
	run     text        COLLATE "C" NOT NULL,
	id      text        COLLATE "C" NOT NULL,
	attempt bigint      NOT NULL,
	part    bigint      NOT NULL,
	at      timestamptz,
	bucket  date        NOT NULL,
	body    bytea       NOT NULL,
	result  bytea,
	PRIMARY KEY (kind, space, run, id, attempt, part, bucket)
) PARTITION BY RANGE (bucket);
