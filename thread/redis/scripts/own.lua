-- Makes a thread the owner of a run id, before the run is admitted.
-- KEYS: runs, executions and their order, of the run's shard.
-- ARGV: run id, thread id, place in the order for the first run of an execution ('' for others).
-- Result: {owner, '1' if it is new}.
local new = redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
local owner = redis.call('HGET', KEYS[1], ARGV[1])
if ARGV[3] ~= '' and owner == ARGV[2] and redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[3]) == 1 then
  redis.call('ZADD', KEYS[3], 0, ARGV[3])
end
return { owner, tostring(new) }
