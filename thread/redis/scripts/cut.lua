-- Cuts the start of a log, and trims the checkpoints, as findcut found: a snapshot takes the place of what goes.
-- KEYS: all of the thread.
-- ARGV: op, version of the thread and number of the newest checkpoint when that was found, trim,
--   n runs whose execution ended long ago; 0, or 1 and last position to be cut, n batches of the snapshot (run, log batch),
--   n runs whose log goes; n unused blobs, n unused segments.
-- Result: {'OK', row}, {'STALE'} when the thread has moved on, or {'GONE'}.
--!use cut
--!use keep
local op, v, cps, trim = text(), number(), number(), flag()
local old, cut = {}, nil
for i = 1, number() do old[i] = text() end
if flag() then
  cut = { last = number(), batches = {}, runs = {} }
  for i = 1, number() do
    local run = text()
    cut.batches[i] = take_batch()
    cut.batches[i].run = run
  end
  for i = 1, number() do cut.runs[i] = text() end
end
local h = load(ALL)
if not h then return { 'GONE' } end
if h.op == op then return { 'OK', row(h) } end
if h.v ~= v or trim and h.cps ~= cps then return { 'STALE' } end

for i, id in ipairs(old) do
  redis.call('ZREM', RETIRED, id)
  local w = run_of(id)
  if w and w.logfrom ~= 0 then
    w.over = 1
    put_run(w)
  end
end
if trim then
  local keep = kept_by_trim()
  for i, found in ipairs(redis.call('ZRANGE', INDEX, 0, -1)) do
    local seq = tonumber(string.sub(found, -12))
    if not keep[seq] then drop_checkpoint(seq) end
  end
end
if cut then
  for i, id in ipairs(cut.runs) do
    local w = run_of(id)
    if w then
      h.logbytes = math.max(0, h.logbytes - w.bytes)
      w.logfrom, w.logto, w.logseq, w.bytes, w.over = 0, 0, 0, 0, 0
      put_run(w)
      redis.call('ZREM', RETIRED, w.id)
    end
  end
  redis.call('XTRIM', LOG, 'MINID', int(cut.last + 1) .. '-0')
  if redis.call('XLEN', LOG) == 0 then
    redis.call('DEL', LOG)
    h.logbytes = 0
  end
  redis.call('HSET', DETAILS, 'snapshot', cmsgpack.pack(cut.batches))
  h.stale = 0
end
for i = 1, number() do redis.call('HDEL', BLOBS, text()) end
for i = 1, number() do
  local segment = text()
  local count = tonumber(string.match(redis.call('HGET', SEGMENTS, '#' .. segment) or '0', '^%d+'))
  for j = 0, count - 1 do redis.call('HDEL', SEGMENTS, '@' .. segment .. ':' .. int(j)) end
  redis.call('HDEL', SEGMENTS, '#' .. segment)
end
local at = now()
forget_keys(at, true)
done(h, op)
changed(h, at)
save(h)
return { 'OK', row(h) }
