-- Drops the logs of runs whose execution ended before a time, with the edits beside
-- them that are as old, and idempotency keys whose time is over.
-- KEYS: all of the thread.
-- ARGV: before, at most how many.
-- Result: {'OK', row, runs whose log was dropped} or {'GONE'}.
--!use remove
--!use keep
local before, limit = number(), number()
local h = load(ALL)
if not h then return { 'GONE' } end

-- outside tells of a batch that belongs to no run and is older than before.
local function outside(e) return e.owner == 0 and e.millis * 1000 < before end

local function drop(id)
  local w = run_of(id)
  redis.call('ZREM', RETIRED, id)
  if not w or w.logfrom == 0 then return end
  local first, last = w.logfrom, w.logto
  local from, more = '(' .. int(last) .. '-0', true
  while more do -- edits behind it
    more = false
    for i, raw in ipairs(redis.call('XRANGE', LOG, from, '+', 'COUNT', 1)) do
      local e = entry(raw)
      if outside(e) then
        last, from, more = e.last, '(' .. e.id, true
      end
    end
  end
  from, more = '(' .. int(first) .. '-0', true
  while more do -- and before it
    more = false
    for i, raw in ipairs(redis.call('XREVRANGE', LOG, from, '-', 'COUNT', 1)) do
      local e = entry(raw)
      if e.owner == 0 then
        first, from, more = e.first, '(' .. e.id, true
      end
    end
  end
  cut(h, first, last)
  w.logfrom, w.logto = 0, 0
  put_run(w)
end

local ids = redis.call('ZRANGEBYSCORE', RETIRED, '-inf', '(' .. int(before), 'LIMIT', 0, limit)
for i, id in ipairs(ids) do drop(id) end
local at = now()
forget_keys(at, true)
changed(h, at)
save(h)
return { 'OK', row(h), int(#ids) }
