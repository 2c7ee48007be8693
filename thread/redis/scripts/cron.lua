-- Stores a cron, deletes it, or claims one firing.
-- KEYS: rows, next firings.
-- ARGV: what: 'put', id, next, enabled, document; 'delete', id; or 'fire', id, due, next.
-- Result: {'OK'}, {'GONE'} without such a cron, {'NONE'} when another one has that firing.
--!use args
local ROWS, NEXT = unpack(KEYS)
local what, id = text(), text()
local function at(next, enabled)
  if enabled and next > 0 then
    redis.call('ZADD', NEXT, int(next), id)
  else
    redis.call('ZREM', NEXT, id)
  end
end
if what == 'put' then
  local next, enabled, doc = number(), flag(), text()
  redis.call('HSET', ROWS, id, cmsgpack.pack({ next = next, enabled = enabled, doc = doc }))
  at(next, enabled)
  return { 'OK' }
end
local packed = redis.call('HGET', ROWS, id)
if what == 'delete' then
  if not packed then return { 'GONE' } end
  redis.call('HDEL', ROWS, id)
  redis.call('ZREM', NEXT, id)
  return { 'OK' }
end
local due, next = number(), number()
local c = packed and cmsgpack.unpack(packed)
if not c or not c.enabled or c.next ~= due then return { 'NONE' } end
c.next = next
redis.call('HSET', ROWS, id, cmsgpack.pack(c))
at(next, true)
return { 'OK' }
