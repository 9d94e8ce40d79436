-- Functions of each deployment that name a queue, as JSON: {"slug": "queue", ...}.
ALTER TABLE holdfast.app_groups ADD COLUMN queues text NOT NULL DEFAULT '{}';
-- The queues that a connection serves, its capacity and the parts of it that belong to some functions alone, as JSON.
-- Null: its gateway is of an earlier version, and gives it work of every queue.
ALTER TABLE holdfast.connections ADD COLUMN takes text;
