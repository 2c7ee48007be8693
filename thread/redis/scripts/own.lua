-- Makes a thread the owner of a run id, before the run is admitted.
-- KEYS: runs of the run's shard.
-- ARGV: run id, thread id.
-- Result: {owner, '1' if it is new}.
local new = redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return { redis.call('HGET', KEYS[1], ARGV[1]), tostring(new) }
