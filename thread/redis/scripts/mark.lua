-- Marks a thread whose derived entries may be behind, before a transition.
-- KEYS: dirty of the shard.
-- ARGV: mark.
-- Result: {the store's time}.
--!use args
--!use clock
local at = now()
redis.call('ZADD', KEYS[1], int(at), ARGV[1])
return { int(at) }
