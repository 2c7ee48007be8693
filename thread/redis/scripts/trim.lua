-- Drops all but the newest checkpoint of each namespace.
-- KEYS: all of the thread.
-- ARGV: at most how many namespaces of a snapshot.
-- Result: {'OK', cut as findcut tells it, '1' if nothing is inflight, number of the newest checkpoint, documents of those that stay,
--   ids of blobs, segments and their heads} or {'GONE'}.
--!use cut
--!use clock
local namespaces = number()
local h = load(ALL)
if not h then return { 'GONE' } end
local keep, docs = {}, {}
for i, ns in ipairs(redis.call('ZRANGE', NAMESPACES, 0, -1)) do
  local seq = newest(ns)
  keep[seq] = true
  docs[#docs + 1] = checkpoint_at(seq)
end
for i, found in ipairs(redis.call('ZRANGE', INDEX, 0, -1)) do
  local seq = tonumber(string.sub(found, -12))
  if not keep[seq] then drop_checkpoint(seq) end
end
changed(h, now())
save(h)
local cut = told_cut(h, 'over', 0, true, namespaces)
if inflight(h) then return { 'OK', cut, '0', int(h.cps), {}, {}, {} } end
local segments = {}
for i, field in ipairs(redis.call('HKEYS', SEGMENTS)) do
  if string.sub(field, 1, 1) == '#' then
    segments[#segments + 1] = string.sub(field, 2)
    segments[#segments + 1] = redis.call('HGET', SEGMENTS, field)
  end
end
return { 'OK', cut, '1', int(h.cps), docs, redis.call('HKEYS', BLOBS), segments }
