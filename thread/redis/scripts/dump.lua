-- Reads what a copy of a thread takes over.
-- KEYS: all of the thread.
-- Result: {'OK', row, number of the newest checkpoint, {sequence, document…}, tasks, blobs, segments, the store's time,
--   open questions {id, namespace, checkpoint, task, document, review or {}}}, tasks, blobs and segments as flat lists of
--   fields and values, and the questions only where one has a review; or {'GONE'}.
--!use checkpoints
local h = load(ALL)
if not h then return { 'GONE' } end
local docs = {}
for i, found in ipairs(redis.call('ZRANGE', INDEX, 0, -1)) do
  local seq = tonumber(string.sub(found, -12))
  docs[#docs + 1] = int(seq)
  docs[#docs + 1] = checkpoint_at(seq)
end
local asked, reviewed = {}, false
for i, id in ipairs(h.rv ~= 0 and open_questions() or {}) do
  local q, r = question(id), reviews.of(h, id)
  reviewed = reviewed or r ~= nil
  asked[#asked + 1] = { id, q.ns, q.checkpoint, q.task, redis.call('HGET', QUESTIONS, 'v' .. id), r and reviews.told(id, r) or {} }
end
return { 'OK', row(h), int(h.cps), docs, redis.call('HGETALL', TASKS), redis.call('HGETALL', BLOBS), redis.call('HGETALL', SEGMENTS),
  int(now()), reviewed and asked or {} }
