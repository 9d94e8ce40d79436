-- A throttle knows which claim was the last to start something (`data`): a start that no worker had is given back only if none came
-- after it. A later one may have been counted from its own time, and then the earlier one holds nothing up any more; given back all the
-- same, it let two runs start where one may (docs/decisions/0178). Of `claim_within_limits` (029) two lines change.
DO $do$
DECLARE
  before text := (SELECT pg_get_functiondef(p.oid) FROM pg_proc p
    WHERE p.proname = 'claim_within_limits' AND p.pronamespace = 'holdfast'::regnamespace);
  after text := replace(replace(before,
    $old$interval '1 millisecond', '', '', NULL,$old$,
    $new$interval '1 millisecond', '', claim, NULL,$new$),
    $old$DO UPDATE SET
        at = GREATEST$old$,
    $new$DO UPDATE SET data = excluded.data,
        at = GREATEST$new$);
BEGIN
  IF length(after) <> length(before) + length('claim') - length($old$''$old$) + length(' data = excluded.data,') THEN
    RAISE EXCEPTION 'claim_within_limits is not the one of migration 029';
  END IF;
  EXECUTE after;
END $do$;
