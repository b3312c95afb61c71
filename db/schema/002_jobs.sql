-- Tuning jobs that were acknowledged and survive a restart of the server.
CREATE TABLE job (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  model TEXT NOT NULL,
  state INTEGER NOT NULL,         -- db/job_store.h
  request BLOB NOT NULL,
  progress BLOB NOT NULL,
  message TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL
) STRICT;
