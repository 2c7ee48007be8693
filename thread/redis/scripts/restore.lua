-- Creates a thread from what dump read of another one.
-- KEYS: all of the new thread.
-- ARGV: op, channel, origin, control, created (0: now), metadata, config, head, when the state was updated, number of the newest checkpoint,
--   n checkpoints (sequence, document), then n times field and value of tasks, of blobs, of segments;
--   n open questions (id, namespace, checkpoint, task, document), n drafts.
-- Result: {'OK', row} {'EXISTS'}, or {'LEAVING'} while a thread of that id is being deleted.
--!use checkpoints
--!use clock
local op = text()
take_channel()
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
redis.call('HSET', DETAILS, 'metadata', text(), 'config', text())
h.head, h.supdated, h.cps = text(), number(), number()
for i = 1, number() do
  local seq, doc = number(), text()
  local ns, id = address(doc)
  redis.call('HSET', CHECKPOINTS, int(seq), doc, 'i' .. within(ns) .. id, int(seq))
  redis.call('ZADD', INDEX, 0, place(ns, seq))
  if seq > tonumber(redis.call('ZSCORE', NAMESPACES, ns) or 0) then redis.call('ZADD', NAMESPACES, int(seq), ns) end
end
for _, key in ipairs({ TASKS, BLOBS, SEGMENTS }) do
  for i = 1, number() do redis.call('HSET', key, text(), text()) end
end
local asked = {}
for i = 1, number() do asked[i] = { id = text(), ns = text(), checkpoint = text(), task = text(), doc = text() } end
reviews.take_drafts()
if #asked > 0 then h.gen = 1 end
for i, a in ipairs(asked) do
  local q = { ns = a.ns, checkpoint = a.checkpoint, task = a.task, run = '', gen = 1, created = at }
  redis.call('HSET', QUESTIONS, 's' .. a.id, ASKED, 'v' .. a.id, a.doc, 'q' .. a.id, cmsgpack.pack(q))
  redis.call('ZADD', OPEN, int(at), a.id)
  h.open = h.open + 1
  reviews.request(h, a.id, q)
end
save(h)
return { 'OK', row(h) }
