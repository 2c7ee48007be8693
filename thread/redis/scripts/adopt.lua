-- Stores the head of a thread of which load has stored all else: from then on it exists.
-- KEYS: all of the thread.
-- ARGV: created; n fields of the head and their values; metadata, config, error, who cancelled the running run; n owed runs (id, floating batch);
--   n batches of the log's snapshot (run, log batch).
-- Result: {'OK', row}.
--!use cut
--!use clock
local h, at = fresh(number()), now()
for i = 1, number() do
  local name = text()
  if TEXTS[name] then
    h[name] = text()
  else
    h[name] = number()
  end
end
h.v, h.mv, h.open = at, at, redis.call('ZCARD', OPEN)
redis.call('HSET', DETAILS, 'metadata', text(), 'config', text())
local failure = text()
if failure ~= '' then redis.call('HSET', DETAILS, 'error', failure) end
local canceller = text()
if canceller ~= '' then redis.call('HSET', DETAILS, 'canceller', canceller) end
if redis.call('EXISTS', REVIEWS, AUDIT, DEAD) > 0 then h.rv = at end
local owed, batches = {}, {}
for i = 1, number() do
  local run, f = text(), take_floating()
  owed[i] = { run, f.head, f.middle, f.tail, f.entries, f.numbered, f.millis }
end
for i = 1, number() do
  local run = text()
  batches[i] = take_batch()
  batches[i].run = run
end
h.owed = #owed
if #owed > 0 then redis.call('HSET', DETAILS, 'owed', cmsgpack.pack(owed)) end
if #batches > 0 then redis.call('HSET', DETAILS, 'snapshot', cmsgpack.pack(batches)) end
save(h)
return { 'OK', row(h) }
