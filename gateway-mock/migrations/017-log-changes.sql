-- Finds the rows of the log that were written lately, whichever runs they are of: live streams over many runs go on where they
-- were. Not the column itself: the primary key has it as well, and would be read from end to end for it. There is a summary for
-- each 32 pages; a row that is inserted costs a look at whether its pages have one (docs/decisions/0080).
CREATE INDEX run_log_by_seq ON holdfast.run_log USING brin ((seq + 0)) WITH (pages_per_range = 32);

-- Brings a partition's index up to date with pages that were written since. It waits for a lock for a shorter time than after
-- which autovacuum would give way to it.
CREATE FUNCTION holdfast.summarise_log(of_index regclass) RETURNS void LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
BEGIN
  PERFORM brin_summarize_new_values(of_index);
END $$;
