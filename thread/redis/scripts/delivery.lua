-- Puts a webhook off, or removes it.
-- KEYS: all of the thread.
-- ARGV: op, id, due (0: remove), error.
-- Result: {'OK', row} or {'GONE'} without such a delivery.
--!use thread
--!use clock
local op, id, due, why = text(), text(), number(), text()
local h = load(ALL)
if not h then return { 'GONE' } end
if h.op == op then return { 'OK', row(h) } end
local packed = redis.call('HGET', OUTBOX, id)
if not packed then return { 'GONE' } end
if due == 0 then
  redis.call('HDEL', OUTBOX, id)
else
  local d = cmsgpack.unpack(packed)
  d.due, d.attempt, d.error = due, d.attempt + 1, why
  redis.call('HSET', OUTBOX, id, cmsgpack.pack(d))
end
done(h, op)
changed(h, now())
save(h)
return { 'OK', row(h) }
