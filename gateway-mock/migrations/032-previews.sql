-- What a preview counts in a partition (docs/retention.md): how many rows there are, how many of one environment go, and since when the
-- oldest of its rows that stays is there. Of a large partition a sample of its pages is read if asked for, so that shares are of `seen`.
-- An event goes once the runs that it started go; they go before it, so here it does not stay for runs that are still there.
CREATE FUNCTION holdfast.preview_past(of_parent text, partition text, periods jsonb, at timestamptz, sampled boolean, environment text)
RETURNS TABLE (seen bigint, gone bigint, oldest timestamptz) LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_seqscan = on AS $$
DECLARE
  age text := CASE of_parent WHEN 'runs' THEN 'r.created_at' ELSE 'r.received_at' END;
  owner text := CASE of_parent WHEN 'runs' THEN 'r.function_id' ELSE 'r.name' END;
  stays text := replace(holdfast.stays(of_parent), 'JOIN holdfast.runs x ON x.id = i.id',
    format('CROSS JOIN LATERAL (SELECT FROM holdfast.runs r WHERE r.id = i.id AND %s OFFSET 0) x', holdfast.stays('runs')));
  pages bigint := pg_relation_size(format('holdfast.%I', partition)::regclass) / current_setting('block_size')::int;
  part text := '';
BEGIN
  IF sampled AND pages > 2000 THEN part := format('TABLESAMPLE SYSTEM (%s)', round(100.0 * 500 / pages, 6)); END IF;
  RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE x.here AND x.goes), min(x.age) FILTER (WHERE x.here AND NOT x.goes)
    FROM (SELECT h.here, h.here AND NOT %s AS goes, %s AS age FROM holdfast.%I r %s CROSS JOIN LATERAL (
      SELECT $3 IS NULL OR $3 = CASE WHEN %s LIKE ''@@%%'' THEN split_part(%s, '':'', 1) ELSE ''@@'' END AS here) h) x',
    stays, age, partition, part, owner, owner)
  USING periods, at, environment;
END $$;
