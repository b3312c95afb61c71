-- Workloads, targets and records. Text is UTF-8, hashes are 32 bytes, times microseconds.
CREATE TABLE workload (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  text TEXT NOT NULL              -- canonical form; hash is its SHA-256
) STRICT;

CREATE TABLE target (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  micro_architecture TEXT NOT NULL,
  text TEXT NOT NULL,
  checksum BLOB NOT NULL
) STRICT;
CREATE INDEX target_by_micro_architecture ON target (micro_architecture);

CREATE TABLE record (
  id INTEGER PRIMARY KEY,
  workload INTEGER NOT NULL REFERENCES workload (id),
  target INTEGER NOT NULL REFERENCES target (id),
  threads INTEGER NOT NULL,
  numerics TEXT NOT NULL,
  schedule_hash BLOB NOT NULL,
  outcome INTEGER NOT NULL,       -- base/outcome.h
  rank_us REAL NOT NULL,          -- median_us / drift, for the index
  schedule TEXT NOT NULL,
  task_name TEXT NOT NULL,
  flops REAL NOT NULL,
  detail TEXT NOT NULL,
  median_us REAL NOT NULL,
  samples BLOB NOT NULL,          -- little-endian float32
  spread REAL NOT NULL,
  control_us REAL NOT NULL,
  drift REAL NOT NULL,
  worker TEXT NOT NULL,
  compiler_version TEXT NOT NULL,
  features_version INTEGER NOT NULL,
  seed INTEGER NOT NULL,          -- the bits of a uint64
  unsandboxed INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  checksum BLOB NOT NULL,         -- over the key and every field here
  UNIQUE (workload, target, threads, numerics, schedule_hash)
) STRICT;
CREATE INDEX record_by_time
  ON record (workload, target, threads, numerics, outcome, rank_us, schedule_hash);
