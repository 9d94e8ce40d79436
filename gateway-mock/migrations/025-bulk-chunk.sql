-- The runs that a bulk job looks at now, as JSON: what was done to them before a gateway died is counted (BULK-5).
ALTER TABLE holdfast.bulk_jobs ADD COLUMN chunk text NOT NULL DEFAULT '[]';
