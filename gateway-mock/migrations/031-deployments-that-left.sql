-- When the last worker of a deployment, as far as its version tells, said that it ends. Not before `seen_at`: none has come since, and the
-- deployment counts as gone without the minute of silence (docs/decisions/0181). Gateways of the version before leave it as it is.
ALTER TABLE holdfast.app_groups ADD COLUMN left_at timestamptz;
