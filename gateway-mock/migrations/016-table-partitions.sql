-- Runs, their log and the events are kept in partitions by the time of their ids, so that what is old can be dropped whole
-- instead of row by row. A row goes where its run's id says: head and log of a run are in partitions of one span of time,
-- however long the run takes (docs/decisions/0073).

-- Waits for who is writing, but not for ever: who comes later waits, too.
SET LOCAL lock_timeout = '5s';
LOCK TABLE holdfast.runs, holdfast.run_log, holdfast.events IN ACCESS EXCLUSIVE MODE;
SET LOCAL lock_timeout = 0;

-- From where to where each partition goes. Ids from `from_id` on, before `to_id`.
CREATE TABLE holdfast.table_partitions (
  parent   text COLLATE "C" NOT NULL,
  name     text COLLATE "C" NOT NULL UNIQUE,
  from_id  text COLLATE "C" NOT NULL,
  to_id    text COLLATE "C" NOT NULL,
  -- When the first id that is not in it is made.
  to_at    timestamptz NOT NULL,
  PRIMARY KEY (parent, to_at)
);

-- What ids that are made from then on are not before: their first ten characters are the milliseconds since 1970.
CREATE FUNCTION holdfast.first_id(at timestamptz) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  ms bigint := floor(date_part('epoch', at) * 1000);
  id text := '';
BEGIN
  FOR i IN 1 .. 10 LOOP
    id := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (ms % 32)::int + 1, 1) || id;
    ms := ms / 32;
  END LOOP;
  RETURN id;
END $$;

-- Makes partitions of one table until they reach `ahead` from now; says how many. Each is as wide as given; after each two
-- dozen twice as wide, since every statement about the table takes a lock on every partition. Ends of partitions are the
-- same for all tables. What has gone into the partition of the rest meanwhile, since none was there, comes along.
-- That partition is locked for an instant; where a long transaction is in the way, it is tried again another time.
CREATE FUNCTION holdfast.extend_table_partitions(of_table text, width interval, ahead interval) RETURNS integer LANGUAGE plpgsql
SET lock_timeout = '500ms' AS $$
DECLARE
  id_column text := CASE of_table WHEN 'run_log' THEN 'run_id' ELSE 'id' END;
  settings text := CASE of_table
    -- A run's rows are updated together with those beside it, by one batch: there must be room for all of them on their page.
    WHEN 'runs' THEN 'WITH (fillfactor = 45)'
    WHEN 'run_log' THEN 'WITH (autovacuum_vacuum_insert_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.2)'
    ELSE '' END;
  last_at timestamptz;
  parts integer;
  seconds float8;
  to_at timestamptz;
  from_id text;
  to_id text;
  made text;
  count integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('holdfast table partitions', 0));
  LOOP
    SELECT max(p.to_at), count(*) INTO last_at, parts FROM holdfast.table_partitions p WHERE p.parent = of_table;
    EXIT WHEN last_at >= now() + ahead;
    seconds := date_part('epoch', width) * power(2, parts / 24);
    to_at := to_timestamp((floor(date_part('epoch', GREATEST(last_at, now())) / seconds) + 1) * seconds);
    from_id := CASE WHEN last_at IS NULL THEN '' ELSE holdfast.first_id(last_at) END;
    to_id := holdfast.first_id(to_at);
    made := of_table || '_to_' || to_char(to_at AT TIME ZONE 'UTC', 'YYYYMMDD"_"HH24MISS');
    EXECUTE format('CREATE TABLE holdfast.%I (LIKE holdfast.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) %s',
      made, of_table, settings);
    EXECUTE format('WITH moved AS (DELETE FROM holdfast.%I WHERE %I >= %L AND %I < %L RETURNING *)
      INSERT INTO holdfast.%I SELECT * FROM moved', of_table || '_rest', id_column, from_id, id_column, to_id, made);
    EXECUTE format('ALTER TABLE holdfast.%I ATTACH PARTITION holdfast.%I FOR VALUES FROM (%L) TO (%L)',
      of_table, made, from_id, to_id);
    INSERT INTO holdfast.table_partitions (parent, name, from_id, to_id, to_at) VALUES (of_table, made, from_id, to_id, to_at);
    count := count + 1;
  END LOOP;
  RETURN count;
END $$;

DROP VIEW holdfast.run_facts;

ALTER TABLE holdfast.runs RENAME TO runs_before;
ALTER TABLE holdfast.runs_before RENAME CONSTRAINT runs_pkey TO runs_before_pkey;
ALTER INDEX holdfast.runs_by_function RENAME TO runs_before_by_function;
ALTER INDEX holdfast.runs_by_environment RENAME TO runs_before_by_environment;

ALTER TABLE holdfast.run_log RENAME TO run_log_before;
ALTER TABLE holdfast.run_log_before RENAME CONSTRAINT run_log_pkey TO run_log_before_pkey;
ALTER INDEX holdfast.run_log_bad_ends RENAME TO run_log_before_bad_ends;

ALTER TABLE holdfast.events RENAME TO events_before;
ALTER TABLE holdfast.events_before RENAME CONSTRAINT events_pkey TO events_before_pkey;

-- What never changes comes first: of a change only what lies behind it is written to the write-ahead log.
CREATE TABLE holdfast.runs (
  id           text COLLATE "C" NOT NULL,
  event_id     text COLLATE "C" NOT NULL,
  event_name   text NOT NULL,
  function_id  text COLLATE "C" NOT NULL,
  app_id       text COLLATE "C" NOT NULL,
  created_at   timestamptz NOT NULL,
  app_version  text NOT NULL,
  deadline_at  timestamptz,
  status       text NOT NULL,
  version      integer NOT NULL,
  started_at   timestamptz,
  ended_at     timestamptz,
  output       text,
  error        text,
  CONSTRAINT runs_status_check CHECK (status IN ('PENDING', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED')),
  CONSTRAINT runs_pkey PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX runs_by_function ON holdfast.runs (function_id, id);
CREATE INDEX runs_by_environment ON holdfast.runs (split_part(function_id, ':', 1), id) WHERE function_id LIKE '@@%';
-- Ids of clocks that are wrong, and of times for which there is no partition (any more).
CREATE TABLE holdfast.runs_rest PARTITION OF holdfast.runs DEFAULT WITH (fillfactor = 45);

CREATE TABLE holdfast.run_log (
  run_id   text COLLATE "C" NOT NULL,
  seq      bigint NOT NULL DEFAULT nextval('holdfast.run_log_seq'),
  at       timestamptz NOT NULL,
  version  integer,
  status   text COLLATE "C",
  facts    text COLLATE "C" NOT NULL,
  data     text NOT NULL,
  CONSTRAINT run_log_pkey PRIMARY KEY (run_id, seq)
) PARTITION BY RANGE (run_id);
CREATE INDEX run_log_bad_ends ON holdfast.run_log (status, run_id) WHERE status IN ('FAILED', 'CANCELLED');
CREATE TABLE holdfast.run_log_rest PARTITION OF holdfast.run_log DEFAULT;

CREATE TABLE holdfast.events (
  id           text COLLATE "C" NOT NULL,
  name         text NOT NULL,
  ts           timestamptz NOT NULL,
  received_at  timestamptz NOT NULL,
  run_ids      text COLLATE "C" NOT NULL,
  payload      text NOT NULL,
  CONSTRAINT events_pkey PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE TABLE holdfast.events_rest PARTITION OF holdfast.events DEFAULT;

-- The tables of before are the first partitions, as they are: they are read once, to see that they may be, and not copied.
-- They take what comes next, too, since clocks of gateways may be ahead.
DO $$
DECLARE
  of_table text;
  id_column text;
  width interval := COALESCE(NULLIF(current_setting('holdfast.table_partition_ms', true), ''), '604800000')::float8 * interval '1 ms';
  seconds float8 := date_part('epoch', width);
  upto timestamptz := to_timestamp((floor(date_part('epoch', now() + LEAST(width, interval '1 day')) / seconds) + 1) * seconds);
  to_id text := holdfast.first_id(upto);
  columns text;
  is_empty boolean;
BEGIN
  FOREACH of_table IN ARRAY ARRAY['runs', 'run_log', 'events'] LOOP
    id_column := CASE of_table WHEN 'run_log' THEN 'run_id' ELSE 'id' END;
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM holdfast.%I)', of_table || '_before') INTO is_empty;
    IF is_empty THEN
      EXECUTE format('DROP TABLE holdfast.%I', of_table || '_before');
    ELSE
      SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
      WHERE attrelid = format('holdfast.%I', of_table)::regclass AND attnum > 0 AND NOT attisdropped;
      EXECUTE format('WITH moved AS (DELETE FROM holdfast.%I WHERE %I >= %L RETURNING %s)
        INSERT INTO holdfast.%I (%s) SELECT %s FROM moved',
        of_table || '_before', id_column, to_id, columns, of_table || '_rest', columns, columns);
      EXECUTE format('ALTER TABLE holdfast.%I ATTACH PARTITION holdfast.%I FOR VALUES FROM (%L) TO (%L)',
        of_table, of_table || '_before', '', to_id);
      INSERT INTO holdfast.table_partitions (parent, name, from_id, to_id, to_at)
      VALUES (of_table, of_table || '_before', '', to_id, upto);
    END IF;
    PERFORM holdfast.extend_table_partitions(of_table, width, 2 * width);
  END LOOP;
END $$;

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
