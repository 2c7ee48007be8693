-- Reads what a copy of a thread takes over.
-- KEYS: all of the thread.
-- Result: {'OK', row, number of the newest checkpoint, {sequence, document…}, tasks, blobs, segments},
--   the last three as flat lists of fields and values; or {'GONE'}.
--!use checkpoints
local h = load(ALL)
if not h then return { 'GONE' } end
local docs = {}
for i, found in ipairs(redis.call('ZRANGE', INDEX, 0, -1)) do
  local seq = tonumber(string.sub(found, -12))
  docs[#docs + 1] = int(seq)
  docs[#docs + 1] = checkpoint_at(seq)
end
return { 'OK', row(h), int(h.cps), docs, redis.call('HGETALL', TASKS), redis.call('HGETALL', BLOBS), redis.call('HGETALL', SEGMENTS) }
