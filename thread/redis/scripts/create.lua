-- Creates a thread.
-- KEYS: all of the thread.
-- ARGV: op, created (0: now), temporary, expires, ttl, metadata, config.
-- Result: {'OK', row} {'EXISTS'}, or {'LEAVING'} while a thread of that id is being deleted.
--!use thread
--!use clock
local op = text()
local h = load(ALL)
if h then
  if h.op == op then return { 'OK', row(h) } end
  return { 'EXISTS' }
end
if leaving() then return { 'LEAVING' } end
local at = now()
local created = number()
h = fresh(created > 0 and created or at)
h.op, h.v, h.mv = op, at, at
h.temp, h.expires, h.ttl = number(), number(), text()
redis.call('HSET', DETAILS, 'metadata', text(), 'config', text())
save(h)
return { 'OK', row(h) }
