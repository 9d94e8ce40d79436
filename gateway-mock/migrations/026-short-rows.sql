-- Rows of the log and of events say less: what most of them have in common, and what is in a column already, is one sign, of
-- those that no JSON text holds as they are (docs/decisions/0141). Rows that are there stay as they are; these functions, as
-- the gateway does, read both. Signs and letters are never given another meaning.

-- The JSON of a fact as it was given. Signs are in its first 512 characters.
CREATE FUNCTION holdfast.whole_fact(data text, run_id text, event_id text, event_name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN left(data, 512) ~ E'[\x01-\x08\x0b\x0c\x0e-\x1d]' THEN
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(left(data, 512)
      , E'\x01', '{"run":{"maxAttempts":')
      , E'\x03', '},"event":{"id":"')
      , E'\x04', '","name":"')
      , E'\x05', '","data":')
      , E'\x06', ',"ts":')
      , E'\x07', ',"user":{}}')
      , E'\x08', '{"job":"')
      , E'\x0c', '","kind":"pass"')
      , E'\x0e', '","kind":"timer","delayMs":')
      , E'\x0f', ',"plan":{"requestVersion":')
      , E'\x10', '{"plan":{"requestVersion":')
      , E'\x11', ',"forced":false,"pending":[')
      , E'\x12', ',"forced":true,"pending":[')
      , E'\x13', '{"step":{"op":"StepRun","name":"')
      , E'\x14', '{"step":{"op":"')
      , E'\x15', '","startedMs":')
      , E'\x16', ',"durationMs":')
      , E'\x17', ',"ordinal":')
      , E'\x18', '},"data":')
      , E'\x19', '{"output":')
      , E'\x1a', '{"op":"Sleep","name":"')
      , E'\x1b', ',"delayMs":')
      , E'\x0b', left(run_id, 22))
      , E'\x02', '},"event":{"id":"' || COALESCE(event_id, '') || '","name":"' || COALESCE(event_name, '') || '","data":')
    || substr(data, 513) ELSE data END
$$;

-- The event as it was given.
CREATE FUNCTION holdfast.whole_event(payload text, id text, name text, ts timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN left(payload, 512) ~ E'[\x01-\x04]' THEN
    replace(replace(replace(replace(left(payload, 512)
      , E'\x01', '{"id":"' || id || '","name":"' || name || '","data":')
      , E'\x02', '{"id":"' || id || '","name":"')
      , E'\x03', ',"ts":' || round(date_part('epoch', ts) * 1000)::bigint::text)
      , E'\x04', ',"user":{}}')
    || substr(payload, 513) ELSE payload END
$$;

-- The fact of a line of `facts`: a letter for its kind and its attempt, then its iteration, then its key; a number that is left
-- out is zero, and "=" begins a hash in base64. Rows of before, and leases that were lost, have the name of the kind, attempt, iteration and key.
CREATE FUNCTION holdfast.line_parts(line text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN line COLLATE "C" < 'a' THEN
    ARRAY[split_part(line, ' ', 1), split_part(line, ' ', 2), split_part(line, ' ', 3),
      regexp_replace(line, '^[^ ]* [^ ]* [^ ]* ', '')]
  ELSE ARRAY[CASE left(line, 1)
    WHEN 'c' THEN 'RUN_CREATED'
    WHEN 'd' THEN 'DISPATCHED'
    WHEN 'p' THEN 'STEP_PLANNED'
    WHEN 'b' THEN 'STEP_BEGUN'
    WHEN 'w' THEN 'STEP_WAITING'
    WHEN 's' THEN 'STEP_COMPLETED'
    WHEN 'a' THEN 'STEP_ATTEMPT_FAILED'
    WHEN 'f' THEN 'STEP_FAILED'
    WHEN 'q' THEN 'PASS_FAILED'
    WHEN 'r' THEN 'PASS_REPORTED'
    WHEN 't' THEN 'TIMER_FIRED'
    WHEN 'v' THEN 'PINNED'
    WHEN 'l' THEN 'STALLED'
    WHEN 'g' THEN 'DEFERRED'
    WHEN 'h' THEN 'DEFER_ABORTED'
    WHEN 'e' THEN 'RUN_COMPLETED'
    WHEN 'x' THEN 'RUN_FAILED'
    WHEN 'k' THEN 'RUN_CANCELLED'
    WHEN 'y' THEN 'RUN_REVIVED'
    WHEN 'z' THEN 'COMMITS_LOST'
    END, COALESCE(NULLIF(substr(split_part(line, ' ', 1), 2), ''), '0'), COALESCE(NULLIF(split_part(line, ' ', 2), ''), '0'),
    regexp_replace(line, '^[^ ]* [^ ]* ', '')] END
$$;

-- The log fact by fact, for people; and events with the whole of their JSON.
DROP VIEW holdfast.run_facts;
CREATE VIEW holdfast.run_facts AS
SELECT l.run_id, l.seq, f.place::int AS place, l.at, l.version, l.status,
  p.parts[1] AS kind, p.parts[2]::int AS attempt, p.parts[3]::int AS iteration,
  CASE WHEN left(p.parts[4], 1) = '=' AND left(f.line, 1) >= 'a' COLLATE "C"
      THEN encode(decode(substr(p.parts[4], 2) || '=', 'base64'), 'hex')
    WHEN strpos(p.parts[4], '\') = 0 THEN p.parts[4]
    ELSE replace(replace(replace(replace(p.parts[4], '\\', E'\x01'), '\n', E'\n'), '\=', '='), E'\x01', '\') END AS key,
  holdfast.whole_fact(f.data, l.run_id, r.event_id, r.event_name) AS data
FROM holdfast.run_log l
LEFT JOIN holdfast.runs r ON r.id = l.run_id
CROSS JOIN LATERAL unnest(string_to_array(l.facts, E'\n'), string_to_array(l.data, E'\x1e')) WITH ORDINALITY AS f(line, data, place)
CROSS JOIN LATERAL (SELECT holdfast.line_parts(f.line) AS parts) p;
CREATE VIEW holdfast.whole_events AS
SELECT id, name, ts, received_at, run_ids, holdfast.whole_event(payload, id, name, ts) AS payload FROM holdfast.events;
