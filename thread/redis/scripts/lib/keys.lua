-- The keys of one thread, in the order of threadKeys.list (keys.go). A script
-- that is given the first few only must not touch the others.
local HEAD, LOG, DETAILS, RUNS, ORDER, CHECKPOINTS, INDEX, NAMESPACES, TASKS, QUESTIONS, OPEN, STEPS, BLOBS, SEGMENTS, IDEMPOTENT, OUTBOX, RETIRED,
  REVIEWS, AUDIT, DEAD = unpack(KEYS)
