/**
 * A store with many ended runs, made by SQL out of some that a gateway has made: their ids, times and table partitions are
 * those of runs that have come evenly over the last eight weeks. Goes with the tables of this checkout only.
 */

/** @typedef {import("./world.mjs").World} World */

const TABLES = [
  ["runs", "WITH (fillfactor = 45)"],
  ["run_log", ""],
  ["events", ""],
];
export const WEEKS = 8;
const PORTION = 50_000;

/** Of each hundred runs so many are of `bench-parallel`, of the environment `staging`, or failed; the oldest are rare. */
const MIXED = `CASE WHEN i < 20 THEN 'bench-waiting' WHEN i % 10 = 9 THEN '@@staging:bench-one'
  WHEN i % 5 = 0 THEN 'bench-parallel' ELSE 'bench-one' END`;

/** The partition that takes new rows begins this week; there is one for each of the weeks before. */
const partitionsOf = (/** @type {string} */ table, /** @type {string} */ settings) => `DO $$
DECLARE
  p holdfast.table_partitions;
  upto timestamptz;
  first text := '';
  made text;
BEGIN
  SELECT * INTO p FROM holdfast.table_partitions WHERE parent = '${table}' ORDER BY to_at LIMIT 1;
  EXECUTE format('ALTER TABLE holdfast.${table} DETACH PARTITION holdfast.%I', p.name);
  FOR week IN REVERSE ${WEEKS + 1} .. 1 LOOP
    upto := p.to_at - week * interval '7 days';
    made := '${table}_to_' || to_char(upto AT TIME ZONE 'UTC', 'YYYYMMDD"_"HH24MISS');
    EXECUTE format('CREATE TABLE holdfast.%I (LIKE holdfast.${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS
      INCLUDING STORAGE INCLUDING COMPRESSION) ${settings}', made);
    EXECUTE format('ALTER TABLE holdfast.${table} ATTACH PARTITION holdfast.%I FOR VALUES FROM (%L) TO (%L)',
      made, first, holdfast.first_id(upto));
    INSERT INTO holdfast.table_partitions (parent, name, from_id, to_id, to_at)
    VALUES ('${table}', made, first, holdfast.first_id(upto), upto);
    first := holdfast.first_id(upto);
  END LOOP;
  EXECUTE format('ALTER TABLE holdfast.${table} ATTACH PARTITION holdfast.%I FOR VALUES FROM (%L) TO (%L)',
    p.name, first, p.to_id);
  UPDATE holdfast.table_partitions SET from_id = first WHERE name = p.name;
END $$`;

const IDS = `INSERT INTO pg_temp.ended SELECT i, holdfast.first_id(t.at) || lpad(upper(to_hex(i)), 16, '0'), t.at, i % $4
FROM generate_series($1::int, $2::int - 1) i
CROSS JOIN LATERAL (SELECT now() - (1 - i::float8 / $3::int) * interval '${WEEKS * 7} days' - interval '1 hour' AS at) t`;

/** Each as its model, but for ids and times. An event has the id of its run with another last character. */
const COPIES = [
  `INSERT INTO holdfast.runs (id, event_id, event_name, function_id, app_id, created_at, app_version, status, version,
  started_at, ended_at, output, error)
SELECT e.id, overlay(e.id placing 'Z' from 26), m.event_name, ${MIXED}, m.app_id, e.at, m.app_version,
  CASE WHEN i % 50 = 7 THEN 'FAILED' ELSE m.status END, m.version, e.at, e.at + interval '1 s', m.output,
  CASE WHEN i % 50 = 7 THEN '{"name":"Error","message":"no luck"}' END
FROM pg_temp.ended e JOIN pg_temp.models m USING (n) ORDER BY i`,
  `INSERT INTO holdfast.run_log (run_id, at, version, status, facts, data)
SELECT e.id, e.at, l.version, CASE WHEN i % 50 = 7 AND l.status = 'COMPLETED' THEN 'FAILED' ELSE l.status END, l.facts, l.data
FROM pg_temp.ended e JOIN pg_temp.models m USING (n) JOIN holdfast.run_log l ON l.run_id = m.id ORDER BY i, l.seq`,
  `INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
SELECT overlay(e.id placing 'Z' from 26), v.name, e.at, e.at, e.id, v.payload
FROM pg_temp.ended e JOIN pg_temp.models m USING (n) JOIN holdfast.events v ON v.id = m.event_id ORDER BY i`,
];

/**
 * So many ended runs; `world` has ended some already.
 * @param {World} world
 * @param {number} count
 */
export async function seedEndedRuns(world, count) {
  for (const [table = "", settings = ""] of TABLES) await world.sql(partitionsOf(table, settings));
  await world.sql(`CREATE TEMP TABLE models AS SELECT *, (row_number() OVER (ORDER BY id) - 1)::int AS n
    FROM (SELECT * FROM holdfast.runs WHERE status = 'COMPLETED' LIMIT 100) r`);
  await world.sql('CREATE TEMP TABLE ended (i int, id text COLLATE "C", at timestamptz, n int)');
  const [models] = await world.sql("SELECT count(*)::int AS n FROM pg_temp.models");
  for (let from = 0; from < count; from += PORTION) {
    await world.sql("TRUNCATE pg_temp.ended");
    await world.sql(IDS, [from, Math.min(from + PORTION, count), count, Number(models?.n)]);
    for (const copy of COPIES) await world.sql(copy);
  }
  await world.sql("VACUUM (ANALYZE) holdfast.runs, holdfast.run_log, holdfast.events");
}
