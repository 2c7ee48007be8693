-- Puts a snapshot in the place of the start of a log.
-- KEYS: all of the thread.
-- ARGV: version of the thread when the cut was found, last position to be cut, n batches (run, log batch), n runs whose log goes.
-- Result: {'OK', row}, {'STALE'} when the thread has moved on, or {'GONE'}.
--!use cut
--!use clock
local v, last = number(), number()
local batches = {}
for i = 1, number() do
  local run = text()
  batches[i] = take_batch()
  batches[i].run = run
end
local h = load(ALL)
if not h then return { 'GONE' } end
if h.v ~= v then return { 'STALE' } end
for i = 1, number() do
  local w = run_of(text())
  if w then
    h.logbytes = math.max(0, h.logbytes - w.bytes)
    w.logfrom, w.logto, w.logseq, w.bytes, w.over = 0, 0, 0, 0, 0
    put_run(w)
    redis.call('ZREM', RETIRED, w.id)
  end
end
redis.call('XTRIM', LOG, 'MINID', int(last + 1) .. '-0')
if redis.call('XLEN', LOG) == 0 then
  redis.call('DEL', LOG)
  h.logbytes = 0
end
redis.call('HSET', DETAILS, 'snapshot', cmsgpack.pack(batches))
changed(h, now())
save(h)
return { 'OK', row(h) }
