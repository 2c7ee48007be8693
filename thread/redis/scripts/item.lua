-- Stores, reads, deletes an item, or starts its TTL anew.
-- KEYS: items of a shard.
-- ARGV: what: 'put', 'get', 'delete' or 'refresh'; namespace, key; of a put: value, created, updated (0: now), TTL.
-- Result: {item} of a get, {} when there is none; else {}.
--!use items
local what, ns, key = text(), text(), text()
local name, at = field(ns, key), now()
if what == 'get' then
  local it = item(name, at)
  return it and { told_item(it) } or {}
elseif what == 'delete' then
  drop_item(name)
  return {}
elseif what == 'refresh' then
  local it = item(name, at)
  if it and it.ttl > 0 then
    it.expires = at + it.ttl
    put_item(name, it)
  end
  return {}
end
local it = { ns = ns, key = key, value = text(), created = number(), updated = number(), ttl = number(), expires = 0 }
if it.updated == 0 then it.updated = at end
if it.created == 0 then it.created = it.updated end
if it.ttl > 0 then it.expires = at + it.ttl end
local before = redis.call('HGET', ITEMS, name)
if before then
  before = cmsgpack.unpack(before)
  it.updated = math.max(it.updated, before.updated + 1)
  if before.expires == 0 or before.expires > at then it.created = before.created end
else
  redis.call('ZADD', ORDER, 0, name)
  redis.call('HINCRBY', NAMESPACES, ns, 1)
end
put_item(name, it)
return {}
