-- What a batch asks the log, as a function: its query sees what was committed until it is called, not until the statement that
-- calls it began. So a batch can take its locks and look into the log in one statement (docs/decisions/0163). Ends the transaction
-- when one of these facts is in the log already, or may be under another name. `run_ids` is sorted. `locked` is not looked at: it is
-- something that is known only once the locks are held, so that numbers are taken, and the log is read, after that.
CREATE OR REPLACE FUNCTION holdfast.expect_new(locked float8, run_ids text[], seen_seqs bigint[], fact_lines text[], OUT base float8, OUT newer text)
LANGUAGE plpgsql AS $$
DECLARE
  is_known boolean;
BEGIN
  SELECT bool_or(l.facts < 'a' AND l.facts NOT LIKE 'LEASE\_LOST %'
      OR string_to_array(l.facts, E'\n') && string_to_array(n.facts, E'\n')),
    json_agg(json_build_array(n.run_id, l.seq))::text
  INTO is_known, newer
  FROM (SELECT unnest(run_ids) AS run_id, unnest(seen_seqs) AS seen, unnest(fact_lines) AS facts) AS n
  CROSS JOIN LATERAL (SELECT x.seq, x.facts FROM holdfast.run_log x WHERE x.run_id = n.run_id AND x.seq > n.seen
    AND x.run_id >= run_ids[1] AND x.run_id <= run_ids[array_upper(run_ids, 1)] OFFSET 0) l;
  IF is_known THEN PERFORM holdfast.expect(false); END IF;
  base := nextval('holdfast.run_log_seq');
END $$;
