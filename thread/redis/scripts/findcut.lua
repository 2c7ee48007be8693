-- Looks how far the log of a thread may be cut, and, with trim, what nothing refers to once only the newest
-- checkpoint of each namespace is left.
-- KEYS: all of the thread.
-- ARGV: mode ('over': behind executions that have ended; 'old': that ended before a time; 'none': a snapshot alone), the time,
--   whether a snapshot alone is made anew, trim, at most how many runs, at most how many namespaces of a snapshot.
-- Result: {'OK', row, number of the newest checkpoint, runs that ended before the time, cut}, where cut is {} or
--   {last position and seq to be cut, documents of the newest checkpoints there, newest run or {}, runs whose log goes};
--   with trim also documents of the checkpoints that stay, ids of blobs, segments and their heads, if nothing is inflight;
--   or {'GONE'}.
--!use cut
local mode, before, again, trim, limit, namespaces = text(), number(), flag(), flag(), number(), number()
local h = load(ALL)
if not h then return { 'GONE' } end
local ids = {}
if mode == 'old' then ids = redis.call('ZRANGEBYSCORE', RETIRED, '-inf', '(' .. int(before), 'LIMIT', 0, limit) end
local keep = trim and kept_by_trim() or nil
local out = { 'OK', row(h), int(h.cps), ids, told_cut(h, mode, before, again, namespaces, keep) }
if not trim or inflight(h) then return out end
local docs, segments = {}, {}
for seq in pairs(keep) do docs[#docs + 1] = checkpoint_at(seq) end
for i, field in ipairs(redis.call('HKEYS', SEGMENTS)) do
  if string.sub(field, 1, 1) == '#' then
    segments[#segments + 1] = string.sub(field, 2)
    segments[#segments + 1] = redis.call('HGET', SEGMENTS, field)
  end
end
out[6], out[7], out[8] = docs, redis.call('HKEYS', BLOBS), segments
return out
