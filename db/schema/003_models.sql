-- The trained cost model of each target, by the version of its features.
CREATE TABLE cost_model (
  target TEXT NOT NULL,           -- fingerprint
  features_version INTEGER NOT NULL,
  micro_architecture TEXT NOT NULL,
  programs INTEGER NOT NULL,      -- measurements it learned from
  created_ms INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  checksum BLOB NOT NULL,         -- over every field here
  PRIMARY KEY (target, features_version)
) STRICT;
