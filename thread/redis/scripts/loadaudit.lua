-- Stores a sealed audit entry of a dump in its project's chain.
-- KEYS: ends of projects, sealed, the project's chain.
-- ARGV: project, number, seal, thread, number in the thread, time, prev, hash, body.
-- Result: {}.
--!use args
local project, seq, seal = text(), number(), text()
local e = { text(), number(), number(), text(), text(), text(), seal }
redis.call('HSET', KEYS[3], int(seq), cmsgpack.pack(e))
local newest = tonumber(string.match(redis.call('HGET', KEYS[1], project) or '0', '^%d+'))
if seq > newest then redis.call('HSET', KEYS[1], project, int(seq) .. ' ' .. seal) end
return {}
