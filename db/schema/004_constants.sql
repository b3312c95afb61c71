-- A record says where the kernel's large constants were (base/constants.h), and its key too: until
-- now they always came from memory. The key's uniqueness is the table's, so it is made anew.
CREATE TABLE new_record (
  id INTEGER PRIMARY KEY,
  workload INTEGER NOT NULL REFERENCES workload (id),
  target INTEGER NOT NULL REFERENCES target (id),
  threads INTEGER NOT NULL,
  numerics TEXT NOT NULL,
  constants TEXT NOT NULL,        -- 'cold' or 'warm'
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
  UNIQUE (workload, target, threads, numerics, constants, schedule_hash)
) STRICT;
INSERT INTO new_record
  SELECT id, workload, target, threads, numerics, 'cold', schedule_hash, outcome, rank_us, schedule,
         task_name, flops, detail, median_us, samples, spread, control_us, drift, worker,
         compiler_version, features_version, seed, unsandboxed, created_ms, checksum
  FROM record ORDER BY id;
DROP TABLE record;
ALTER TABLE new_record RENAME TO record;
CREATE INDEX record_by_time
  ON record (workload, target, threads, numerics, constants, outcome, rank_us, schedule_hash);
