-- Lists the namespaces of a shard's items.
-- KEYS: items of a shard.
-- Result: {namespace…}.
--!use items
while purge(now()) do end
return redis.call('HKEYS', NAMESPACES)
