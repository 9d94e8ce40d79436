-- A claim within limits takes no more of all functions together than their workers have room for, and says what each job that it starts
-- is paced by, so that one that finds no worker is paced again (docs/decisions/0171). `room_of` has the number of each function's place in
-- `rooms`, or NULL. `claim_limited` stays for gateways of the version before.
CREATE FUNCTION holdfast.claim_within_limits(
  now_at timestamptz, gateway text, claim text, start text, shared boolean, functions text[], most integer[],
  lease_ms float8[], cap_a integer[], cap_b integer[], every_ms float8[], burst integer[],
  known bigint, room_of integer[], rooms integer[]
) RETURNS TABLE (
  id text, run_id text, kind text, key text, function_id text, attempt integer, iteration integer, priority integer,
  epoch integer, until_ms float8, due_ms float8, was_lost boolean,
  unplaced_ms float8, paced_lane text, paced_by text
) LANGUAGE plpgsql SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
  i integer;
  f text;
  tolerance interval;
  looks integer;
  most_now integer;
  found bigint;
BEGIN
  PERFORM holdfast.lock_places(functions, shared);
  PERFORM holdfast.expect(known IS NULL OR EXISTS (SELECT FROM holdfast.registry r WHERE r.one AND r.version = known));
  FOR i IN 1 .. cardinality(functions) LOOP
    f := functions[i];
    most_now := LEAST(most[i], rooms[room_of[i]]);
    CONTINUE WHEN most_now <= 0;
    looks := LEAST(GREATEST(most_now * 2, 50), 300);
    tolerance := (COALESCE(burst[i], 1) - 1) * every_ms[i] * interval '1 millisecond';
    RETURN QUERY WITH RECURSIVE up AS (
      (SELECT q.lane, q.slot_a, q.slot_b, q.throttle, 1 AS n FROM holdfast.queue q
        WHERE q.function_id || '' = f AND q.lane <> '' AND q.lane >= start ORDER BY q.lane LIMIT 1)
      UNION ALL
      SELECT x.*, up.n + 1 FROM up CROSS JOIN LATERAL (
        SELECT q.lane, q.slot_a, q.slot_b, q.throttle FROM holdfast.queue q
        WHERE q.function_id || '' = f AND q.lane <> '' AND q.lane > up.lane ORDER BY q.lane LIMIT 1) x WHERE up.n < looks
    ), round AS (
      (SELECT q.lane, q.slot_a, q.slot_b, q.throttle, 1 AS n FROM holdfast.queue q
        WHERE q.function_id || '' = f AND q.lane <> '' AND q.lane < start ORDER BY q.lane LIMIT 1)
      UNION ALL
      SELECT x.*, round.n + 1 FROM round CROSS JOIN LATERAL (
        SELECT q.lane, q.slot_a, q.slot_b, q.throttle FROM holdfast.queue q
        WHERE q.function_id || '' = f AND q.lane <> '' AND q.lane > round.lane AND q.lane < start ORDER BY q.lane LIMIT 1) x
      WHERE round.n < looks
    ), lanes AS (
      SELECT * FROM up UNION ALL SELECT * FROM round LIMIT looks
    ), used AS MATERIALIZED (
      -- Each slot is counted once, however many lanes share it.
      SELECT s.slot, (SELECT count(*) FROM holdfast.queue t WHERE t.slot_a = s.slot AND t.slot_a IS NOT NULL AND t.leased_by IS NOT NULL)
        + (SELECT count(*) FROM holdfast.queue t WHERE t.slot_b = s.slot AND t.slot_b IS NOT NULL AND t.leased_by IS NOT NULL) AS places
      FROM (SELECT slot_a AS slot FROM lanes WHERE cap_a[i] IS NOT NULL UNION SELECT slot_b FROM lanes WHERE cap_b[i] IS NOT NULL) s
      WHERE s.slot IS NOT NULL
    ), room AS (
      SELECT l.*,
        CASE WHEN l.slot_a IS NULL OR cap_a[i] IS NULL THEN most_now ELSE cap_a[i] - a.places END AS free_a,
        CASE WHEN l.slot_b IS NULL OR cap_b[i] IS NULL THEN most_now ELSE cap_b[i] - b.places END AS free_b,
        CASE WHEN l.throttle IS NULL OR every_ms[i] IS NULL THEN most_now
          ELSE floor(date_part('epoch', tolerance - GREATEST(g.at - now_at, interval '0')) * 1000 / every_ms[i] + 1e-6) + 1 END AS starts
      FROM lanes l LEFT JOIN used a ON a.slot = l.slot_a LEFT JOIN used b ON b.slot = l.slot_b
        LEFT JOIN holdfast.gates g ON g.function_id = f AND g.kind = 'throttle' AND g.key = l.throttle
    ), fresh AS (
      SELECT r.slot_a, r.slot_b, r.throttle, r.free_a, r.free_b, r.starts, x.id, x.priority, x.available_at
      FROM room r CROSS JOIN LATERAL (
        WITH RECURSIVE hop AS (
          (SELECT q.priority FROM holdfast.queue q WHERE q.function_id || '' = f AND q.lane = r.lane AND q.lane <> ''
            ORDER BY q.priority DESC LIMIT 1)
          UNION ALL
          SELECT (SELECT q.priority FROM holdfast.queue q WHERE q.function_id || '' = f AND q.lane = r.lane AND q.lane <> ''
            AND q.priority < hop.priority ORDER BY q.priority DESC LIMIT 1) FROM hop WHERE hop.priority IS NOT NULL
        )
        SELECT c.* FROM hop CROSS JOIN LATERAL (
          SELECT q.id, q.priority, q.available_at FROM holdfast.queue q
          WHERE q.function_id || '' = f AND q.lane = r.lane AND q.lane <> '' AND q.priority = hop.priority
            AND q.available_at <= now_at AND q.leased_by IS NULL ORDER BY q.available_at
          -- No more than there is room for: of a thousand lanes with one place each a thousand jobs are read.
          LIMIT GREATEST(LEAST(most_now, r.free_a, r.free_b, r.starts), 0)) c
        ORDER BY c.available_at - c.priority * interval '1 second', c.id
        LIMIT GREATEST(LEAST(most_now, r.free_a, r.free_b, r.starts), 0)) x
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
        AND q.available_at <= now_at ORDER BY q.available_at LIMIT most_now
    ), chosen AS (
      SELECT held.id FROM held
      UNION ALL
      (SELECT b.id FROM by_start b WHERE b.throttle IS NULL OR b.rank_start <= b.starts ORDER BY b.pos
        LIMIT GREATEST(most_now - (SELECT count(*) FROM held), 0))
    ), locked AS MATERIALIZED (
      SELECT q.id, q.available_at, q.leased_by, q.lost, q.lane, q.throttle, q.epoch, q.unplaced_since FROM holdfast.queue q
      WHERE q.id = ANY (ARRAY(SELECT chosen.id FROM chosen)) AND q.available_at <= now_at ORDER BY q.id FOR UPDATE SKIP LOCKED
    ), taken AS (
      UPDATE holdfast.queue q SET epoch = q.epoch + 1, available_at = now_at + lease_ms[i] * interval '1 millisecond',
        leased_by = gateway, claimed_at = now_at, claim_id = claim, lost = false,
        unplaced_since = NULL, wanted_version = NULL,
        -- What has started is not paced again.
        lane = split_part(q.lane, '~', 1), throttle = NULL
      FROM locked WHERE q.id = locked.id AND q.id = ANY (ARRAY(SELECT locked.id FROM locked))
      RETURNING q.*, locked.available_at AS due_at, (locked.leased_by IS NOT NULL OR locked.lost) AS was_lost,
        locked.leased_by AS lost_by, locked.throttle AS paced_by, locked.lane AS paced_lane,
        CASE WHEN locked.epoch = 0 THEN 0 ELSE date_part('epoch', now_at - locked.unplaced_since) * 1000 END AS waited_ms
    ), paced AS (
      INSERT INTO holdfast.gates AS g (function_id, kind, key, count, at, run_id, data, due_at, expires_at)
      SELECT f, 'throttle', t.paced_by, 0, now_at + count(*) * every_ms[i] * interval '1 millisecond', '', '', NULL,
        now_at + count(*) * every_ms[i] * interval '1 millisecond'
      FROM taken t WHERE t.paced_by IS NOT NULL AND every_ms[i] IS NOT NULL GROUP BY t.paced_by ORDER BY t.paced_by
      ON CONFLICT (function_id, kind, key) DO UPDATE SET
        at = GREATEST(g.at, now_at) + (excluded.at - now_at), expires_at = GREATEST(g.at, now_at) + (excluded.at - now_at)
    ), noted AS (
      INSERT INTO holdfast.run_log (run_id, at, facts, data)
      SELECT t.run_id, now_at, 'LEASE_LOST ' || t.attempt || ' ' || (t.epoch - 1) || ' ' || t.id,
        json_build_object('kind', t.kind, 'key', t.key, 'gatewayId', t.lost_by)::text
      FROM taken t WHERE t.was_lost AND t.run_id <> ''
    )
    SELECT t.id, t.run_id, t.kind, t.key, t.function_id, t.attempt, t.iteration, t.priority, t.epoch,
      round(date_part('epoch', t.available_at) * 1000)::float8, round(date_part('epoch', t.due_at) * 1000)::float8, t.was_lost,
      round(t.waited_ms)::float8, CASE WHEN t.paced_by IS NOT NULL THEN t.paced_lane END, t.paced_by
    FROM taken t ORDER BY t.due_at - t.priority * interval '1 second', t.id;
    GET DIAGNOSTICS found = ROW_COUNT;
    IF room_of[i] IS NOT NULL THEN rooms[room_of[i]] := rooms[room_of[i]] - found; END IF;

    IF EXISTS (
      WITH RECURSIVE hop AS (
        (SELECT q.priority FROM holdfast.queue q WHERE q.function_id = f ORDER BY q.priority DESC LIMIT 1)
        UNION ALL
        SELECT (SELECT q.priority FROM holdfast.queue q WHERE q.function_id = f AND q.priority < hop.priority
          ORDER BY q.priority DESC LIMIT 1) FROM hop WHERE hop.priority IS NOT NULL
      )
      SELECT FROM hop CROSS JOIN LATERAL (SELECT FROM holdfast.queue q WHERE q.function_id = f AND q.priority = hop.priority
        AND q.available_at <= now_at AND q.lane <> '' ORDER BY q.available_at LIMIT 1) due
    ) THEN
      RETURN QUERY SELECT NULL::text, NULL::text, NULL::text, NULL::text, f, NULL::int, NULL::int, NULL::int, NULL::int,
        NULL::float8, round(date_part('epoch', min(g.at) - tolerance) * 1000)::float8, false, NULL::float8, NULL::text, NULL::text
      FROM holdfast.gates g WHERE g.function_id = f AND g.kind = 'throttle' AND g.at - tolerance > now_at;
    END IF;
  END LOOP;
END $$;
