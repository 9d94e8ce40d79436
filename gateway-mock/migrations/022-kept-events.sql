-- An event is kept for a day at least: a sender that was not answered may send it again, and it must start nothing twice.
CREATE OR REPLACE FUNCTION holdfast.stays(parent text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
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
    r.received_at >= $2 - interval '1 day'
    OR COALESCE(r.received_at >= $2 - ($1->>'c')::float8 * interval '1 millisecond', true)
    OR EXISTS (SELECT FROM unnest(string_to_array(r.run_ids, ' ')) AS i(id) JOIN holdfast.runs x ON x.id = i.id)
    OR EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = '' AND q.kind = 'event' AND q.key = r.id)
    OR r.id IN (SELECT e.id FROM holdfast.gates g CROSS JOIN LATERAL unnest(string_to_array(g.data, ' ')) AS e(id)
        WHERE g.kind IN ('debounce', 'batch', 'full') AND g.run_id <> ''))$sql$
  END
$$;
