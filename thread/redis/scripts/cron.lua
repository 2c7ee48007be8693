-- Stores a cron, deletes it, or claims one firing.
-- KEYS: rows, next firings, note of a deletion.
-- ARGV: op; what: 'put', id, next, enabled, document; 'delete', id; or 'fire', id, due, next.
-- Result: {'OK'}, {'GONE'} without such a cron, {'NONE'} when another one has that firing.
--!use args
local ROWS, NEXT, NOTE = unpack(KEYS)
local op = text()
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
  if not packed then return { redis.call('EXISTS', NOTE) == 1 and 'OK' or 'GONE' } end
  redis.call('SET', NOTE, '', 'EX', 60) -- the reply may be lost
  redis.call('HDEL', ROWS, id)
  redis.call('ZREM', NEXT, id)
  return { 'OK' }
end
local due, next = number(), number()
local c = packed and cmsgpack.unpack(packed)
if c and c.op == op then return { 'OK' } end
if not c or not c.enabled or c.next ~= due then return { 'NONE' } end
c.next, c.op = next, op
redis.call('HSET', ROWS, id, cmsgpack.pack(c))
at(next, true)
return { 'OK' }
