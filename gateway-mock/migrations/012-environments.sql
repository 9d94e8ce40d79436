-- Runs of named environments are found by it; those of the default one have no entry. A name such as "@@preview:shop-order"
-- begins with its environment.
CREATE INDEX runs_by_environment ON holdfast.runs (split_part(function_id, ':', 1), id) WHERE function_id LIKE '@@%';
