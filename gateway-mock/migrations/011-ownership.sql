-- What proves that a worker was given a request is signed with a secret that all gateways of this database share.
CREATE TABLE holdfast.secrets (
  name   text COLLATE "C" PRIMARY KEY,
  value  text NOT NULL
);
INSERT INTO holdfast.secrets (name, value)
VALUES ('proofs', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));

-- Session tokens that were used, by the connection that each was made for, until they would have ended by themselves.
CREATE TABLE holdfast.used_tokens (
  connection_id  text COLLATE "C" PRIMARY KEY,
  expires_at     timestamptz NOT NULL
);
CREATE INDEX used_tokens_by_age ON holdfast.used_tokens (expires_at);
