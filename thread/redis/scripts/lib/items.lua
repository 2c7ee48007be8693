--!use clock
--!use args
-- Items. ORDER has them by namespace and key, EXPIRING by the end of their life,
-- NAMESPACES counts those of each namespace.
local ITEMS, ORDER, EXPIRING, NAMESPACES = unpack(KEYS)

-- field joins namespace and key; the separator is no part of labels.
local function field(ns, key) return ns .. '\31\31' .. key end

local function item(name, at)
  local packed = redis.call('HGET', ITEMS, name)
  local it = packed and cmsgpack.unpack(packed)
  if it and (it.expires == 0 or it.expires > at) then return it end
end

local function put_item(name, it)
  redis.call('HSET', ITEMS, name, cmsgpack.pack(it))
  if it.expires > 0 then
    redis.call('ZADD', EXPIRING, int(it.expires), name)
  else
    redis.call('ZREM', EXPIRING, name)
  end
end

local function drop_item(name)
  local packed = redis.call('HGET', ITEMS, name)
  if not packed then return end
  redis.call('HDEL', ITEMS, name)
  redis.call('ZREM', ORDER, name)
  redis.call('ZREM', EXPIRING, name)
  local ns = cmsgpack.unpack(packed).ns
  if redis.call('HINCRBY', NAMESPACES, ns, -1) <= 0 then redis.call('HDEL', NAMESPACES, ns) end
end

-- purge removes items whose life is over, up to a bound; it returns whether there may be more.
local function purge(at)
  local names = redis.call('ZRANGEBYSCORE', EXPIRING, '-inf', int(at), 'LIMIT', 0, 500)
  for i, name in ipairs(names) do drop_item(name) end
  return #names == 500
end

local function told_item(it)
  return { it.ns, it.key, it.value, int(it.created), int(it.updated), int(it.ttl) }
end
