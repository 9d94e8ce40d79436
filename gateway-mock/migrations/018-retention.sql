-- What is past its time goes with its partition: what has to stay is copied into a new one, which takes the place of the old
-- one (docs/decisions/0083). Each function here is one step, in one transaction; whatever dies between two of them, the
-- next gateway goes on from there.

-- Runs that are kept until they are released, whatever their age.
CREATE TABLE holdfast.run_holds (
  run_id   text COLLATE "C" PRIMARY KEY,
  held_at  timestamptz NOT NULL,
  reason   text NOT NULL
);

ALTER TABLE holdfast.table_partitions
  -- When it was last looked through for what is past its time, and for which periods; null = never.
  ADD COLUMN looked_at  timestamptz,
  ADD COLUMN looked_for text,
  -- How many rows stayed in it when it was last copied; null = it was never copied.
  ADD COLUMN kept       bigint;

-- The one that is under way, if any: partitions of a span of time that are copied.
CREATE TABLE holdfast.table_rewrites (
  one         boolean PRIMARY KEY CHECK (one),
  -- The first of the tables that are copied together.
  parent      text COLLATE "C" NOT NULL,
  -- Ends the names of the new tables.
  number      bigint NOT NULL,
  from_id     text COLLATE "C" NOT NULL,
  to_id       text COLLATE "C" NOT NULL,
  to_at       timestamptz NOT NULL,
  -- For which periods.
  looked_for  text NOT NULL,
  -- The server's time of its last step.
  touched_at  timestamptz NOT NULL DEFAULT transaction_timestamp(),
  -- What comes before this id has been looked at; null = all has been.
  next_id     text COLLATE "C",
  seen        bigint NOT NULL DEFAULT 0,
  kept        bigint NOT NULL DEFAULT 0
);
CREATE SEQUENCE holdfast.table_rewrite_seq;

-- What has been written to these partitions since it began.
CREATE TABLE holdfast.rewrite_changes (
  n   bigint GENERATED ALWAYS AS IDENTITY,
  id  text COLLATE "C" NOT NULL
);

CREATE FUNCTION holdfast.note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN INSERT INTO holdfast.rewrite_changes (id) VALUES (OLD.id); END IF;
  IF TG_OP <> 'DELETE' THEN INSERT INTO holdfast.rewrite_changes (id) VALUES (NEW.id); END IF;
  RETURN NULL;
END $$;
CREATE FUNCTION holdfast.note_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN INSERT INTO holdfast.rewrite_changes (id) VALUES (OLD.run_id); END IF;
  IF TG_OP <> 'DELETE' THEN INSERT INTO holdfast.rewrite_changes (id) VALUES (NEW.run_id); END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION holdfast.tables_with(parent text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE parent WHEN 'runs' THEN ARRAY['runs', 'run_log'] ELSE ARRAY[parent] END
$$;
CREATE FUNCTION holdfast.id_column(of_table text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE of_table WHEN 'run_log' THEN 'run_id' ELSE 'id' END
$$;

-- The condition for a row `r` of a table to stay. $1 = the periods, as JSON: milliseconds for what completed ("c") and what
-- failed ("x"), null = no end; the same in "f" for each function that has its own. $2 = now.
CREATE FUNCTION holdfast.stays(parent text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE parent WHEN 'runs' THEN $sql$(
    r.ended_at IS NULL
    OR COALESCE(r.ended_at >= $2 - (COALESCE($1->'f'->(r.function_id), $1)
        ->>CASE r.status WHEN 'FAILED' THEN 'x' ELSE 'c' END)::float8 * interval '1 millisecond', true)
    OR EXISTS (SELECT FROM holdfast.run_holds h WHERE h.run_id = r.id)
    OR EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = r.id)
    OR EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = '' AND q.kind = 'child' AND q.key = r.id)
    OR EXISTS (SELECT FROM holdfast.waits w WHERE w.run_id = r.id)
    OR EXISTS (SELECT FROM holdfast.waits w WHERE w.name = r.id AND w.kind = 'invoke'))$sql$
  ELSE $sql$(
    COALESCE(r.received_at >= $2 - ($1->>'c')::float8 * interval '1 millisecond', true)
    OR EXISTS (SELECT FROM unnest(string_to_array(r.run_ids, ' ')) AS i(id) JOIN holdfast.runs x ON x.id = i.id)
    OR EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = '' AND q.kind = 'event' AND q.key = r.id)
    OR r.id IN (SELECT e.id FROM holdfast.gates g CROSS JOIN LATERAL unnest(string_to_array(g.data, ' ')) AS e(id)
        WHERE g.kind IN ('debounce', 'batch', 'full') AND g.run_id <> ''))$sql$
  END
$$;

-- Only one gateway takes steps at a time; another one does not wait for it.
CREATE FUNCTION holdfast.lock_retention() RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT pg_try_advisory_xact_lock(hashtextextended('holdfast retention', 0))
$$;

-- Begins to copy what stays of the partitions of a span of time into one: makes its tables, and notes from now on what is
-- written to the old ones.
CREATE FUNCTION holdfast.begin_rewrite(of_parent text, first_id text, last_id text, periods text)
RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE
  of_table text;
  id_column text;
  made text;
  source text;
  settings text;
  work holdfast.table_rewrites;
BEGIN
  IF NOT holdfast.lock_retention() OR EXISTS (SELECT FROM holdfast.table_rewrites) THEN RETURN false; END IF;
  DELETE FROM holdfast.rewrite_changes;
  INSERT INTO holdfast.table_rewrites (one, parent, number, from_id, to_id, to_at, looked_for, next_id)
  SELECT true, of_parent, nextval('holdfast.table_rewrite_seq'), min(p.from_id), max(p.to_id), max(p.to_at), periods, min(p.from_id)
  FROM holdfast.table_partitions p WHERE p.parent = of_parent AND p.from_id >= first_id AND p.to_id <= last_id
  HAVING count(*) > 0 RETURNING * INTO work;
  IF work.parent IS NULL THEN RETURN false; END IF;
  FOREACH of_table IN ARRAY holdfast.tables_with(of_parent) LOOP
    id_column := holdfast.id_column(of_table);
    settings := CASE of_table WHEN 'runs' THEN 'WITH (fillfactor = 90)' ELSE '' END;
    made := of_table || '_kept_' || work.number;
    EXECUTE format('CREATE TABLE holdfast.%I (LIKE holdfast.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES) %s',
      made, of_table, settings);
    -- Postgres need not read it to see that it fits.
    EXECUTE format('ALTER TABLE holdfast.%I ADD CONSTRAINT in_range CHECK (%I >= %L AND %I < %L)',
      made, id_column, work.from_id, id_column, work.to_id);
    FOR source IN SELECT p.name FROM holdfast.table_partitions p
      WHERE p.parent = of_table AND p.from_id >= first_id AND p.to_id <= last_id ORDER BY p.to_at
    LOOP
      EXECUTE format('CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON holdfast.%I FOR EACH ROW EXECUTE FUNCTION %s',
        source, CASE of_table WHEN 'run_log' THEN 'holdfast.note_log_change()' ELSE 'holdfast.note_change()' END);
    END LOOP;
  END LOOP;
  RETURN true;
END $$;

-- Ends it as if it had not begun.
CREATE FUNCTION holdfast.abandon_rewrite() RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE
  work holdfast.table_rewrites;
  of_table text;
  source text;
BEGIN
  IF NOT holdfast.lock_retention() THEN RETURN false; END IF;
  DELETE FROM holdfast.table_rewrites RETURNING * INTO work;
  IF work.parent IS NULL THEN RETURN true; END IF;
  FOREACH of_table IN ARRAY holdfast.tables_with(work.parent) LOOP
    FOR source IN SELECT p.name FROM holdfast.table_partitions p
      WHERE p.parent = of_table AND p.from_id >= work.from_id AND p.to_id <= work.to_id LOOP
      EXECUTE format('DROP TRIGGER IF EXISTS note_change ON holdfast.%I', source);
    END LOOP;
    EXECUTE format('DROP TABLE IF EXISTS holdfast.%I', of_table || '_kept_' || work.number);
  END LOOP;
  DELETE FROM holdfast.rewrite_changes;
  RETURN true;
END $$;

-- Copies those of these ids that stay.
CREATE FUNCTION holdfast.copy_kept(work holdfast.table_rewrites, condition text, periods jsonb, at timestamptz, ids text[])
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  copied bigint;
BEGIN
  EXECUTE format('WITH heads AS (INSERT INTO holdfast.%I SELECT r.* FROM holdfast.%I r WHERE %s AND %s RETURNING id)
    SELECT count(*) FROM heads',
    work.parent || '_kept_' || work.number, work.parent, condition, holdfast.stays(work.parent))
  INTO copied USING periods, at, ids;
  IF work.parent = 'runs' AND copied > 0 THEN
    EXECUTE format('INSERT INTO holdfast.%I SELECT l.* FROM holdfast.run_log l WHERE %s
      AND l.run_id IN (SELECT r.id FROM holdfast.%I r WHERE %s)',
      'run_log_kept_' || work.number, replace(condition, 'r.id', 'l.run_id'), 'runs_kept_' || work.number, condition)
    USING periods, at, ids;
  END IF;
  RETURN copied;
END $$;

-- Looks at the next `most` rows. `more`: there are others.
CREATE FUNCTION holdfast.continue_rewrite(most integer, periods jsonb, at timestamptz)
RETURNS TABLE (taken boolean, more boolean) LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  work holdfast.table_rewrites;
  upto text;
  looked bigint;
  copied bigint;
BEGIN
  IF NOT holdfast.lock_retention() THEN RETURN QUERY SELECT false, false; RETURN; END IF;
  SELECT * INTO work FROM holdfast.table_rewrites WHERE next_id IS NOT NULL;
  IF work.parent IS NULL THEN RETURN QUERY SELECT true, false; RETURN; END IF;
  EXECUTE format('SELECT r.id FROM holdfast.%I r WHERE r.id >= $1 AND r.id < $2 ORDER BY r.id OFFSET $3 LIMIT 1', work.parent)
  INTO upto USING work.next_id, work.to_id, most;
  EXECUTE format('SELECT count(*) FROM holdfast.%I r WHERE r.id >= $1 AND r.id < $2', work.parent)
  INTO looked USING work.next_id, COALESCE(upto, work.to_id);
  copied := holdfast.copy_kept(work, format('r.id >= %L AND r.id < %L', work.next_id, COALESCE(upto, work.to_id)), periods, at, NULL);
  UPDATE holdfast.table_rewrites SET next_id = upto, seen = seen + looked, kept = kept + copied,
    touched_at = transaction_timestamp();
  RETURN QUERY SELECT true, upto IS NOT NULL;
END $$;

-- Copies anew what has changed since it was copied, at most so many; says how many there were.
CREATE FUNCTION holdfast.copy_changes(most integer, periods jsonb, at timestamptz) RETURNS integer LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  work holdfast.table_rewrites;
  numbers bigint[];
  ids text[];
BEGIN
  SELECT * INTO work FROM holdfast.table_rewrites;
  -- A change that comes meanwhile has a row of its own.
  SELECT array_agg(c.n), array_agg(DISTINCT c.id) INTO numbers, ids
  FROM (SELECT n, id FROM holdfast.rewrite_changes ORDER BY n LIMIT most) c;
  IF ids IS NULL THEN RETURN 0; END IF;
  IF work.parent = 'runs' THEN
    EXECUTE format('DELETE FROM holdfast.%I WHERE run_id = ANY($1)', 'run_log_kept_' || work.number) USING ids;
  END IF;
  EXECUTE format('DELETE FROM holdfast.%I WHERE id = ANY($1)', work.parent || '_kept_' || work.number) USING ids;
  PERFORM holdfast.copy_kept(work,
    format('r.id >= %L AND r.id < %L AND r.id = ANY($3)', work.from_id, work.to_id), periods, at, ids);
  DELETE FROM holdfast.rewrite_changes WHERE n = ANY(numbers);
  RETURN cardinality(numbers);
END $$;

CREATE FUNCTION holdfast.catch_up_rewrite(most integer, periods jsonb, at timestamptz)
RETURNS TABLE (taken boolean, changes integer) LANGUAGE plpgsql AS $$
BEGIN
  IF NOT holdfast.lock_retention() THEN RETURN QUERY SELECT false, 0; RETURN; END IF;
  UPDATE holdfast.table_rewrites SET touched_at = transaction_timestamp();
  RETURN QUERY SELECT true, holdfast.copy_changes(most, periods, at);
END $$;

-- Puts the copy in the place of the old partitions. For this instant no statement works on these tables; the locks are
-- waited for shortly, and where they are not to be had nothing is changed.
CREATE FUNCTION holdfast.finish_rewrite(periods jsonb, at timestamptz)
RETURNS TABLE (taken boolean, seen bigint, kept bigint) LANGUAGE plpgsql
SET lock_timeout = '200ms' AS $$
DECLARE
  work holdfast.table_rewrites;
  of_table text;
  id_column text;
  made text;
  source record;
  remains boolean := false;
BEGIN
  IF NOT holdfast.lock_retention() THEN RETURN QUERY SELECT false, 0::bigint, 0::bigint; RETURN; END IF;
  SELECT * INTO work FROM holdfast.table_rewrites;
  IF work.parent IS NULL OR work.next_id IS NOT NULL THEN RETURN QUERY SELECT true, 0::bigint, 0::bigint; RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('holdfast table partitions', 0));
  IF work.parent = 'runs' THEN LOCK TABLE ONLY holdfast.runs, ONLY holdfast.run_log IN ACCESS EXCLUSIVE MODE;
  ELSE EXECUTE format('LOCK TABLE ONLY holdfast.%I IN ACCESS EXCLUSIVE MODE', work.parent); END IF;
  -- A hold writes nothing to the run.
  IF work.parent = 'runs' THEN
    INSERT INTO holdfast.rewrite_changes (id) SELECT h.run_id FROM holdfast.run_holds h
    WHERE h.run_id >= work.from_id AND h.run_id < work.to_id;
  END IF;
  PERFORM holdfast.copy_changes(NULL, periods, at);
  FOREACH of_table IN ARRAY holdfast.tables_with(work.parent) LOOP
    id_column := holdfast.id_column(of_table);
    made := of_table || '_kept_' || work.number;
    FOR source IN SELECT p.name FROM holdfast.table_partitions p
      WHERE p.parent = of_table AND p.from_id >= work.from_id AND p.to_id <= work.to_id ORDER BY p.to_at
    LOOP
      EXECUTE format('ALTER TABLE holdfast.%I DETACH PARTITION holdfast.%I', of_table, source.name);
      EXECUTE format('DROP TABLE holdfast.%I', source.name);
      DELETE FROM holdfast.table_partitions p WHERE p.parent = of_table AND p.name = source.name;
    END LOOP;
    -- What came for spans between them that had been dropped.
    EXECUTE format('WITH moved AS (DELETE FROM holdfast.%I WHERE %I >= %L AND %I < %L RETURNING *) INSERT INTO holdfast.%I SELECT * FROM moved',
      of_table || '_rest', id_column, work.from_id, id_column, work.to_id, made);
    EXECUTE format('SELECT $1 OR EXISTS (SELECT FROM holdfast.%I)', made) INTO remains USING remains;
  END LOOP;
  FOREACH of_table IN ARRAY holdfast.tables_with(work.parent) LOOP
    made := of_table || '_kept_' || work.number;
    IF remains THEN
      EXECUTE format('ALTER TABLE holdfast.%I ATTACH PARTITION holdfast.%I FOR VALUES FROM (%L) TO (%L)',
        of_table, made, work.from_id, work.to_id);
      EXECUTE format('ALTER TABLE holdfast.%I DROP CONSTRAINT in_range', made);
      INSERT INTO holdfast.table_partitions (parent, name, from_id, to_id, to_at, looked_at, looked_for, kept)
      VALUES (of_table, made, work.from_id, work.to_id, work.to_at, at, work.looked_for, work.kept);
    ELSE
      EXECUTE format('DROP TABLE holdfast.%I', made);
    END IF;
  END LOOP;
  DELETE FROM holdfast.table_rewrites;
  RETURN QUERY SELECT true, work.seen, work.kept;
END $$;

-- Removes rows of one partition that are past their time, of the `most` after an id: where too few go to copy the rest.
CREATE FUNCTION holdfast.remove_past(of_parent text, partition text, after_id text, most integer, periods jsonb, at timestamptz)
RETURNS TABLE (taken boolean, next_id text, removed bigint) LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  upto text;
  ids text[];
BEGIN
  IF NOT holdfast.lock_retention() OR EXISTS (SELECT FROM holdfast.table_rewrites) THEN
    RETURN QUERY SELECT false, NULL::text, 0::bigint; RETURN;
  END IF;
  EXECUTE format('SELECT max(x.id) FROM (SELECT r.id FROM holdfast.%I r WHERE r.id > $1 ORDER BY r.id LIMIT $2) x', partition)
  INTO upto USING after_id, most;
  IF upto IS NULL THEN RETURN QUERY SELECT true, NULL::text, 0::bigint; RETURN; END IF;
  EXECUTE format('SELECT array_agg(x.id) FROM (SELECT r.id FROM holdfast.%I r WHERE r.id > $3 AND r.id <= $4 AND NOT %s
    ORDER BY r.id FOR UPDATE OF r SKIP LOCKED) x', partition, holdfast.stays(of_parent))
  INTO ids USING periods, at, after_id, upto;
  -- Once more under the locks: a hold may have come.
  EXECUTE format('SELECT array_agg(r.id) FROM holdfast.%I r WHERE r.id = ANY($3) AND NOT %s', partition, holdfast.stays(of_parent))
  INTO ids USING periods, at, ids;
  IF ids IS NOT NULL THEN
    IF of_parent = 'runs' THEN
      DELETE FROM holdfast.run_log l WHERE l.run_id = ANY(ids) AND l.run_id > after_id AND l.run_id <= upto;
    END IF;
    EXECUTE format('DELETE FROM holdfast.%I r WHERE r.id = ANY($1)', partition) USING ids;
  END IF;
  RETURN QUERY SELECT true, upto, COALESCE(cardinality(ids), 0)::bigint;
END $$;

-- How many of a partition's rows there are, and how many go; of a large one from a sample of its pages if asked for.
-- `environment`: only of this one, as names begin there; '@@' = the default one; null = all.
CREATE FUNCTION holdfast.count_past(of_parent text, partition text, periods jsonb, at timestamptz,
  sampled boolean, environment text)
RETURNS TABLE (seen bigint, gone bigint, oldest timestamptz) LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_seqscan = on AS $$
DECLARE
  age text := CASE of_parent WHEN 'runs' THEN 'r.created_at' ELSE 'r.received_at' END;
  owner text := CASE of_parent WHEN 'runs' THEN 'r.function_id' ELSE 'r.name' END;
  pages bigint := pg_relation_size(format('holdfast.%I', partition)::regclass) / current_setting('block_size')::int;
  part text := '';
BEGIN
  IF sampled AND pages > 2000 THEN part := format('TABLESAMPLE SYSTEM (%s)', round(100.0 * 500 / pages, 6)); END IF;
  RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE x.goes), min(x.age) FILTER (WHERE NOT x.goes)
    FROM (SELECT NOT %s AS goes, %s AS age FROM holdfast.%I r %s
      WHERE $3 IS NULL OR $3 = CASE WHEN %s LIKE ''@@%%'' THEN split_part(%s, '':'', 1) ELSE ''@@'' END) x',
    holdfast.stays(of_parent), age, partition, part, owner, owner)
  USING periods, at, environment;
END $$;
