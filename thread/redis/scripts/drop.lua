-- Removes blobs and list segments that no checkpoint refers to.
-- KEYS: all of the thread.
-- ARGV: number of the newest checkpoint when that was found out, n blob ids, n segments.
-- Result: {'OK'}, or {'STALE'} when a checkpoint may have come that refers to them.
--!use queue
local cps = number()
local h = load(ALL)
if not h or h.cps ~= cps or inflight(h) then return { 'STALE' } end
for i = 1, number() do redis.call('HDEL', BLOBS, text()) end
for i = 1, number() do
  local segment = text()
  local count = tonumber(string.match(redis.call('HGET', SEGMENTS, '#' .. segment) or '0', '^%d+'))
  for j = 0, count - 1 do redis.call('HDEL', SEGMENTS, '@' .. segment .. ':' .. int(j)) end
  redis.call('HDEL', SEGMENTS, '#' .. segment)
end
return { 'OK' }
