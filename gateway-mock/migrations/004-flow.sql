-- Flow control: what may hold a run back, or make one of several events.

-- A job of a function with limits is in a lane: jobs of one lane share all their limits. '' = no limits.
ALTER TABLE holdfast.queue
  ADD COLUMN lane      text COLLATE "C" NOT NULL DEFAULT '',
  -- Places it takes while it is leased, at most two.
  ADD COLUMN slot_a    text COLLATE "C",
  ADD COLUMN slot_b    text COLLATE "C",
  -- What its first start is paced by.
  ADD COLUMN throttle  text COLLATE "C";
-- Of jobs without limits none of these has an entry.
CREATE INDEX queue_lanes ON holdfast.queue (function_id, lane, priority DESC, available_at) WHERE lane <> '';
CREATE INDEX queue_held ON holdfast.queue (function_id, available_at) WHERE lane <> '' AND leased_by IS NOT NULL;
CREATE INDEX queue_slot_a ON holdfast.queue (slot_a) WHERE slot_a IS NOT NULL AND leased_by IS NOT NULL;
CREATE INDEX queue_slot_b ON holdfast.queue (slot_b) WHERE slot_b IS NOT NULL AND leased_by IS NOT NULL;

-- What events pass on their way to a run. Changed only under the row's lock.
--   rate      how many runs (count) the period that began at `at` has had
--   single    the run that runs (run_id)
--   throttle  when the next start would be due at an even pace (at)
--   debounce, batch  the open window (run_id, the id of its job), how many events it has (count), which (data),
--             since when (at) and until when (due_at)
--   full      a batch that waits for its run: as batch, the key is the window's id
CREATE TABLE holdfast.gates (
  function_id  text COLLATE "C" NOT NULL,
  kind         text COLLATE "C" NOT NULL,
  key          text COLLATE "C" NOT NULL,
  count        integer NOT NULL,
  at           timestamptz NOT NULL,
  run_id       text COLLATE "C" NOT NULL,
  data         text NOT NULL,
  due_at       timestamptz,
  -- Means nothing any more from here on.
  expires_at   timestamptz NOT NULL,
  PRIMARY KEY (function_id, kind, key)
) WITH (fillfactor = 70);
CREATE INDEX gates_by_age ON holdfast.gates (expires_at);

-- Schedules. The next tick of each is a job in the queue, so one gateway takes it.
CREATE TABLE holdfast.crons (
  function_id  text COLLATE "C" NOT NULL,
  cron         text COLLATE "C" NOT NULL,
  app_id       text COLLATE "C" NOT NULL,
  jitter_ms    integer NOT NULL,
  next_at      timestamptz NOT NULL,
  PRIMARY KEY (function_id, cron)
);
CREATE INDEX crons_by_app ON holdfast.crons (app_id);

-- Places of a slot that are taken: by everything that is leased and was not given back.
CREATE FUNCTION holdfast.taken(slot text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (SELECT count(*) FROM holdfast.queue WHERE slot_a = slot AND slot_a IS NOT NULL AND leased_by IS NOT NULL)
    + (SELECT count(*) FROM holdfast.queue WHERE slot_b = slot AND slot_b IS NOT NULL AND leased_by IS NOT NULL)
$$;

-- Who takes places holds these locks, in this order, so that nobody takes the same ones meanwhile.
CREATE FUNCTION holdfast.lock_places(functions text[], shared boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
BEGIN
  IF shared THEN PERFORM pg_advisory_xact_lock(hashtextextended('holdfast', 0)); END IF;
  FOR name IN SELECT DISTINCT n COLLATE "C" FROM unnest(functions) n ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(hashtextextended('holdfast ' || name, 0));
  END LOOP;
END $$;

-- Leases due jobs of functions with limits. Every statement in here sees what was committed before it began, so counts
-- are right under the locks. Answers with a row for each job, and one without a job for each function whose due jobs
-- could not all be taken (due_ms = when its throttle lets the next one start).
CREATE FUNCTION holdfast.claim_limited(
  now_at timestamptz, gateway text, claim text, start text, shared boolean, functions text[], most integer[],
  lease_ms float8[], cap_a integer[], cap_b integer[], every_ms float8[], burst integer[]
) RETURNS TABLE (
  id text, run_id text, kind text, key text, function_id text, attempt integer, iteration integer, priority integer,
  epoch integer, until_ms float8, due_ms float8, was_lost boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  i integer;
  f text;
  tolerance interval;
  looks integer;
BEGIN
  PERFORM holdfast.lock_places(functions, shared);
  FOR i IN 1 .. cardinality(functions) LOOP
    f := functions[i];
    looks := LEAST(GREATEST(most[i] * 2, 50), 300);
    tolerance := (COALESCE(burst[i], 1) - 1) * every_ms[i] * interval '1 millisecond';
    RETURN QUERY WITH RECURSIVE up AS (
      (SELECT q.lane, q.slot_a, q.slot_b, q.throttle, 1 AS n FROM holdfast.queue q
        WHERE q.function_id = f AND q.lane <> '' AND q.lane >= start ORDER BY q.lane LIMIT 1)
      UNION ALL
      SELECT x.*, up.n + 1 FROM up CROSS JOIN LATERAL (
        SELECT q.lane, q.slot_a, q.slot_b, q.throttle FROM holdfast.queue q
        WHERE q.function_id = f AND q.lane <> '' AND q.lane > up.lane ORDER BY q.lane LIMIT 1) x WHERE up.n < looks
    ), round AS (
      (SELECT q.lane, q.slot_a, q.slot_b, q.throttle, 1 AS n FROM holdfast.queue q
        WHERE q.function_id = f AND q.lane <> '' AND q.lane < start ORDER BY q.lane LIMIT 1)
      UNION ALL
      SELECT x.*, round.n + 1 FROM round CROSS JOIN LATERAL (
        SELECT q.lane, q.slot_a, q.slot_b, q.throttle FROM holdfast.queue q
        WHERE q.function_id = f AND q.lane <> '' AND q.lane > round.lane AND q.lane < start ORDER BY q.lane LIMIT 1) x
      WHERE round.n < looks
    ), lanes AS (
      SELECT * FROM up UNION ALL SELECT * FROM round LIMIT looks
    ), room AS (
      SELECT l.*,
        CASE WHEN l.slot_a IS NULL OR cap_a[i] IS NULL THEN most[i] ELSE cap_a[i]
            - (SELECT count(*) FROM holdfast.queue t WHERE t.slot_a = l.slot_a AND t.slot_a IS NOT NULL AND t.leased_by IS NOT NULL)
            - (SELECT count(*) FROM holdfast.queue t WHERE t.slot_b = l.slot_a AND t.slot_b IS NOT NULL AND t.leased_by IS NOT NULL) END AS free_a,
        CASE WHEN l.slot_b IS NULL OR cap_b[i] IS NULL THEN most[i] ELSE cap_b[i]
            - (SELECT count(*) FROM holdfast.queue t WHERE t.slot_a = l.slot_b AND t.slot_a IS NOT NULL AND t.leased_by IS NOT NULL)
            - (SELECT count(*) FROM holdfast.queue t WHERE t.slot_b = l.slot_b AND t.slot_b IS NOT NULL AND t.leased_by IS NOT NULL) END AS free_b,
        CASE WHEN l.throttle IS NULL OR every_ms[i] IS NULL THEN most[i]
          ELSE floor(date_part('epoch', tolerance - GREATEST(g.at - now_at, interval '0')) * 1000 / every_ms[i] + 1e-6) + 1 END AS starts
      FROM lanes l LEFT JOIN holdfast.gates g ON g.function_id = f AND g.kind = 'throttle' AND g.key = l.throttle
    ), fresh AS (
      SELECT r.slot_a, r.slot_b, r.throttle, r.free_a, r.free_b, r.starts, x.id, x.priority, x.available_at
      FROM room r CROSS JOIN LATERAL (
        WITH RECURSIVE hop AS (
          (SELECT q.priority FROM holdfast.queue q WHERE q.function_id = f AND q.lane = r.lane AND q.lane <> ''
            ORDER BY q.priority DESC LIMIT 1)
          UNION ALL
          SELECT (SELECT q.priority FROM holdfast.queue q WHERE q.function_id = f AND q.lane = r.lane AND q.lane <> ''
            AND q.priority < hop.priority ORDER BY q.priority DESC LIMIT 1) FROM hop WHERE hop.priority IS NOT NULL
        )
        SELECT c.* FROM hop CROSS JOIN LATERAL (
          SELECT q.id, q.priority, q.available_at FROM holdfast.queue q
          WHERE q.function_id = f AND q.lane = r.lane AND q.lane <> '' AND q.priority = hop.priority
            AND q.available_at <= now_at AND q.leased_by IS NULL ORDER BY q.available_at LIMIT most[i]) c
        ORDER BY c.available_at - c.priority * interval '1 second', c.id
        LIMIT GREATEST(LEAST(most[i], r.free_a, r.free_b, r.starts), 0)) x
      WHERE LEAST(r.free_a, r.free_b, r.starts) > 0
    ), placed AS (
      SELECT *, row_number() OVER (ORDER BY available_at - priority * interval '1 second', id) AS pos FROM fresh
    ), by_b AS (
      SELECT *, row_number() OVER (PARTITION BY slot_b ORDER BY pos) AS rank_b FROM placed
    ), by_a AS (
      SELECT *, row_number() OVER (PARTITION BY slot_a ORDER BY pos) AS rank_a FROM by_b
      WHERE slot_b IS NULL OR rank_b <= free_b
    ), by_start AS (
      SELECT *, row_number() OVER (PARTITION BY throttle ORDER BY pos) AS rank_start FROM by_a
      WHERE slot_a IS NULL OR rank_a <= free_a
    ), held AS (
      -- They have their places already.
      SELECT q.id FROM holdfast.queue q WHERE q.function_id = f AND q.lane <> '' AND q.leased_by IS NOT NULL
        AND q.available_at <= now_at ORDER BY q.available_at LIMIT most[i]
    ), chosen AS (
      SELECT held.id FROM held
      UNION ALL
      (SELECT b.id FROM by_start b WHERE b.throttle IS NULL OR b.rank_start <= b.starts ORDER BY b.pos
        LIMIT GREATEST(most[i] - (SELECT count(*) FROM held), 0))
    ), locked AS MATERIALIZED (
      SELECT q.id, q.available_at, q.leased_by, q.lost, q.throttle FROM holdfast.queue q
      WHERE q.id IN (SELECT chosen.id FROM chosen) AND q.available_at <= now_at ORDER BY q.id FOR UPDATE SKIP LOCKED
    ), taken AS (
      UPDATE holdfast.queue q SET epoch = q.epoch + 1, available_at = now_at + lease_ms[i] * interval '1 millisecond',
        leased_by = gateway, claimed_at = now_at, claim_id = claim, lost = false,
        -- What has started is not paced again.
        lane = split_part(q.lane, '~', 1), throttle = NULL
      FROM locked WHERE q.id = locked.id
      RETURNING q.*, locked.available_at AS due_at, (locked.leased_by IS NOT NULL OR locked.lost) AS was_lost,
        locked.leased_by AS lost_by, locked.throttle AS paced_by
    ), paced AS (
      INSERT INTO holdfast.gates AS g (function_id, kind, key, count, at, run_id, data, due_at, expires_at)
      SELECT f, 'throttle', t.paced_by, 0, now_at + count(*) * every_ms[i] * interval '1 millisecond', '', '', NULL,
        now_at + count(*) * every_ms[i] * interval '1 millisecond'
      FROM taken t WHERE t.paced_by IS NOT NULL AND every_ms[i] IS NOT NULL GROUP BY t.paced_by ORDER BY t.paced_by
      ON CONFLICT (function_id, kind, key) DO UPDATE SET
        at = GREATEST(g.at, now_at) + (excluded.at - now_at), expires_at = GREATEST(g.at, now_at) + (excluded.at - now_at)
    ), noted AS (
      INSERT INTO holdfast.run_log (run_id, key, kind, attempt, iteration, version, status, data, at)
      SELECT t.run_id, t.id, 'LEASE_LOST', t.attempt, t.epoch - 1, NULL, NULL,
        json_build_object('kind', t.kind, 'key', t.key, 'gatewayId', t.lost_by)::text, now_at
      FROM taken t WHERE t.was_lost AND t.run_id <> '' ON CONFLICT DO NOTHING
    )
    SELECT t.id, t.run_id, t.kind, t.key, t.function_id, t.attempt, t.iteration, t.priority, t.epoch,
      round(date_part('epoch', t.available_at) * 1000)::float8, round(date_part('epoch', t.due_at) * 1000)::float8, t.was_lost
    FROM taken t ORDER BY t.due_at - t.priority * interval '1 second', t.id;

    IF EXISTS (SELECT FROM holdfast.queue q WHERE q.function_id = f AND q.available_at <= now_at AND q.lane <> '') THEN
      RETURN QUERY SELECT NULL::text, NULL::text, NULL::text, NULL::text, f, NULL::int, NULL::int, NULL::int, NULL::int,
        NULL::float8, round(date_part('epoch', min(g.at) - tolerance) * 1000)::float8, false
      FROM holdfast.gates g WHERE g.function_id = f AND g.kind = 'throttle' AND g.at - tolerance > now_at;
    END IF;
  END LOOP;
END $$;

-- Takes leases up again that were given back and that nobody has claimed since, where there is still a place.
CREATE FUNCTION holdfast.take_up(
  now_at timestamptz, shared boolean, functions text[], ids text[], epochs integer[], gateways text[], lease_ms float8[],
  cap_a integer[], cap_b integer[]
) RETURNS TABLE (id text, epoch integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  i integer;
BEGIN
  PERFORM holdfast.lock_places(functions, shared);
  FOR i IN 1 .. cardinality(ids) LOOP
    RETURN QUERY UPDATE holdfast.queue q
    SET available_at = now_at + lease_ms[i] * interval '1 millisecond', leased_by = gateways[i], lost = false
    WHERE q.id = ids[i] AND q.epoch = epochs[i] AND q.leased_by IS NULL
      AND (q.slot_a IS NULL OR cap_a[i] IS NULL OR holdfast.taken(q.slot_a) < cap_a[i])
      AND (q.slot_b IS NULL OR cap_b[i] IS NULL OR holdfast.taken(q.slot_b) < cap_b[i])
    RETURNING q.id, q.epoch;
  END LOOP;
END $$;
