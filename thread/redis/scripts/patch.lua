-- Changes metadata, configuration and expiry.
-- KEYS: all of the thread.
-- ARGV: op, version of metadata and configuration that was read (0: not changed), metadata, config,
--   changes expiry, expires, changes ttl, ttl, at (0: now).
-- Result: {'OK', row}, {'GONE'} or {'STALE'} when metadata has moved on.
--!use thread
--!use clock
local op = text()
local h = load(ALL)
if not h then return { 'GONE' } end
if h.op == op then return { 'OK', row(h) } end
local at = now()
local mv, metadata, config = number(), text(), text()
if mv ~= 0 then
  if mv ~= h.mv then return { 'STALE' } end
  redis.call('HSET', DETAILS, 'metadata', metadata, 'config', config)
  h.mv = math.max(h.mv + 1, at)
end
local expiry, expires = flag(), number()
if expiry then h.expires = expires end
local strategy, ttl = flag(), text()
if strategy then h.ttl = ttl end
local updated = number()
h.updated = updated > 0 and updated or at
done(h, op)
changed(h, at)
save(h)
return { 'OK', row(h) }
