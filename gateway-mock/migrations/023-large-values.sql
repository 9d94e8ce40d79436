-- How Postgres compresses values of more than 2 kB by default takes 10 to 20 ms of its CPU time for a megabyte, more than all
-- else that is done with it, also when nothing comes of it. lz4 takes a tenth of that for about the same size; a server that
-- is built without it keeps them as they are (docs/decisions/0118). What is stored already stays as it is.

-- Waits for who is writing, but not for ever: who comes later waits, too.
SET LOCAL lock_timeout = '5s';
LOCK TABLE holdfast.runs, holdfast.run_log, holdfast.events IN ACCESS EXCLUSIVE MODE;
SET LOCAL lock_timeout = 0;

DO $$
DECLARE
  of_table text;
  of_column text;
  part text;
  old_code text;
  new_code text;
  changed regprocedure;
BEGIN
  FOR of_table, of_column IN VALUES ('runs', 'output'), ('runs', 'error'), ('run_log', 'data'), ('events', 'payload') LOOP
    FOR part IN SELECT relid::regclass::text FROM pg_partition_tree(format('holdfast.%I', of_table)::regclass) LOOP
      BEGIN
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET COMPRESSION lz4', part, of_column);
      EXCEPTION WHEN feature_not_supported THEN
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE EXTERNAL', part, of_column);
      END;
    END LOOP;
  END LOOP;

  -- Partitions that are made later, and copies of old ones, are as their tables.
  FOREACH changed IN ARRAY ARRAY[
    'holdfast.extend_table_partitions(text, interval, interval)', 'holdfast.begin_rewrite(text, text, text, text)'
  ]::regprocedure[] LOOP
    old_code := pg_get_functiondef(changed);
    new_code := replace(old_code, 'INCLUDING CONSTRAINTS', 'INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION');
    IF new_code = old_code THEN RAISE EXCEPTION '% makes tables in another way', changed; END IF;
    EXECUTE new_code;
  END LOOP;
END $$;
