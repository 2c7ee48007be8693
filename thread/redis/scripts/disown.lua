-- Forgets whose a run is.
-- KEYS: runs, executions and their order, of the run's shard.
-- ARGV: run id.
-- Result: {}.
redis.call('HDEL', KEYS[1], ARGV[1])
local place = redis.call('HGET', KEYS[2], ARGV[1])
if place then
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[3], place)
end
return {}
