-- Stores an item of a dump.
-- KEYS: items of a shard.
-- ARGV: namespace, key, value, created, updated, TTL, expires.
-- Result: {}.
--!use items
local it = { ns = text(), key = text(), value = text(), created = number(), updated = number(), ttl = number(), expires = number() }
local name = field(it.ns, it.key)
if redis.call('ZADD', ORDER, 0, name) == 1 then redis.call('HINCRBY', NAMESPACES, it.ns, 1) end
put_item(name, it)
return {}
