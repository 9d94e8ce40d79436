-- Conditions such as `event.data.id == async.data.id` are looked up by value: an event meets only those who may want it.
-- `match` is the place in the incoming event as a JSON array, a line feed, and a digest of the value that has to be there;
-- '' = anything may do.
ALTER TABLE holdfast.waits ADD COLUMN match text COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX holdfast.waits_by_name;
CREATE INDEX waits_by_match ON holdfast.waits (name, match, run_id, key);
