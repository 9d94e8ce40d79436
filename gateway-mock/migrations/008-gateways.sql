-- Signs of life of gateways: what is connected at one that has died no longer counts.
CREATE TABLE holdfast.gateways (
  id       text COLLATE "C" PRIMARY KEY,
  seen_at  timestamptz NOT NULL
) WITH (fillfactor = 20);
