-- Stores an assistant of a dump in place of one that is there.
-- KEYS: current versions, all versions.
-- ARGV: id, current version, created, updated, then version, time and document of each version, oldest first.
-- Result: {}.
--!use args
local CURRENT, VERSIONS = unpack(KEYS)
local id = text()
local a = { version = number(), created = number(), updated = number(), newest = 0, changes = 1, op = '' }
while taken < #ARGV do
  a.newest = number()
  redis.call('HSET', VERSIONS, int(a.newest) .. ':' .. id, cmsgpack.pack({ at = number(), doc = text() }))
end
redis.call('HSET', CURRENT, id, cmsgpack.pack(a))
return {}
