-- One row of the log for each write instead of one for each fact: most runs take two or three rows. Order and key are a number
-- that rises, so a row needs no look at others when it is written; that no fact is there twice is ensured by those who write,
-- under the locks of the run (docs/decisions/0058).

-- Each value stands for 1,024 numbers: a batch takes one value and numbers its rows from there on.
CREATE SEQUENCE holdfast.run_log_seq INCREMENT BY 1024;

ALTER TABLE holdfast.run_log RENAME TO run_log_before;
ALTER TABLE holdfast.run_log_before RENAME CONSTRAINT run_log_pkey TO run_log_before_pkey;
DROP INDEX holdfast.run_log_bad_ends;

CREATE TABLE holdfast.run_log (
  -- Ids of runs begin with their time: the log can be parted by them, as it can be parted from what is old.
  run_id   text COLLATE "C" NOT NULL,
  seq      bigint NOT NULL DEFAULT nextval('holdfast.run_log_seq'),
  at       timestamptz NOT NULL,
  -- What the head became with this row; null when it was not touched.
  version  integer,
  status   text COLLATE "C",
  -- A line for each fact: kind, attempt, iteration and key, parted by spaces. In keys "\" is written "\\", a line feed "\n".
  facts    text COLLATE "C" NOT NULL,
  -- The JSON of each fact, verbatim, parted by U+001E, which no JSON holds as it is.
  data     text NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.2);

-- What was written before keeps its place: each fact is a row of its own.
INSERT INTO holdfast.run_log (run_id, seq, at, version, status, facts, data)
SELECT run_id, seq, at, version, status,
  kind || ' ' || attempt || ' ' || iteration || ' ' || replace(replace(key, '\', '\\'), E'\n', '\n'), data
FROM holdfast.run_log_before ORDER BY run_id, seq;
SELECT setval('holdfast.run_log_seq', ((COALESCE(max(seq), 0) / 1024) + 1) * 1024 + 1) FROM holdfast.run_log_before;
DROP TABLE holdfast.run_log_before;

ALTER TABLE holdfast.run_log ADD PRIMARY KEY (run_id, seq);
-- Runs that ended badly are few: finding them costs nothing for the others.
CREATE INDEX run_log_bad_ends ON holdfast.run_log (status, run_id) WHERE status IN ('FAILED', 'CANCELLED');

-- The log fact by fact, for people.
CREATE VIEW holdfast.run_facts AS
SELECT l.run_id, l.seq, f.place::int AS place, l.at, l.version, l.status,
  split_part(f.line, ' ', 1) AS kind,
  split_part(f.line, ' ', 2)::int AS attempt,
  split_part(f.line, ' ', 3)::int AS iteration,
  CASE WHEN strpos(k.key, '\') = 0 THEN k.key ELSE
    replace(replace(replace(k.key, '\\', E'\x01'), '\n', E'\n'), E'\x01', '\') END AS key,
  f.data
FROM holdfast.run_log l
CROSS JOIN LATERAL unnest(string_to_array(l.facts, E'\n'), string_to_array(l.data, E'\x1e')) WITH ORDINALITY AS f(line, data, place)
CROSS JOIN LATERAL (SELECT substr(f.line, length(split_part(f.line, ' ', 1)) + length(split_part(f.line, ' ', 2))
  + length(split_part(f.line, ' ', 3)) + 4) AS key) k;

-- A run's rows are updated together with those beside it, by one batch: there must be room for all of them on their page.
ALTER TABLE holdfast.runs SET (fillfactor = 45);

-- A batch of unknown fate is recognised by its number alone; which facts were new is decided before they are written.
ALTER TABLE holdfast.writers DROP COLUMN xid;
