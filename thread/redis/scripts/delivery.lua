-- Puts a webhook off, gives it up, or removes it.
-- KEYS: all of the thread.
-- ARGV: op, id, what: 'retry', 'fail' or 'finish', due, error.
-- Result: {'OK', row} or {'GONE'} without such a delivery.
--!use thread
--!use dead
--!use clock
local op, id, what, due, why = text(), text(), text(), number(), text()
local h = load(ALL)
if not h then return { 'GONE' } end
if h.op == op then return { 'OK', row(h) } end
local at = now()
local packed, dead = redis.call('HGET', OUTBOX, id), false
if not packed and h.rv ~= 0 then
  packed, dead = redis.call('HGET', DEAD, id), true
end
if not packed then return { 'GONE' } end
redis.call('HDEL', OUTBOX, id)
if dead and what ~= 'fail' then unbury(h, id, at) end
if what ~= 'finish' then
  local d = cmsgpack.unpack(packed)
  d.attempt, d.error = d.attempt + 1, why
  if what == 'retry' then
    d.due = due
    redis.call('HSET', OUTBOX, id, cmsgpack.pack(d))
  else
    d.due = at
    bury(h, id, d, at)
  end
end
done(h, op)
changed(h, at)
save(h)
return { 'OK', row(h) }
