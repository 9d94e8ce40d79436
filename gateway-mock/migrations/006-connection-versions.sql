-- Versions of the apps behind a connection, as JSON: ["app@version", ...].
ALTER TABLE holdfast.connections ADD COLUMN app_versions text NOT NULL DEFAULT '[]';
