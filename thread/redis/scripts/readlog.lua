-- Reads log entries behind a position, by whole batches.
-- KEYS: all of the thread.
-- ARGV: position, about how many entries (0: all), run id ('' for all runs).
-- Result: {'OK', run, data, '1' if it belongs to a snapshot…}, {'GONE'} without the thread, {'NONE'} without the run.
--!use runs
--!use log
local after, limit, id = number(), number(), text()
local h = load(ALL)
if not h then return { 'GONE' } end
local out, w = { 'OK' }, nil
if id ~= '' then
  w = run_of(id)
  if not w then return { 'NONE' } end
  present(h, w)
  if w.logfrom == 0 then return out end
  after = math.max(after, w.logfrom - 1)
end
local found = 0
if not w then
  for i, b in ipairs(snapshot()) do
    if b.last > after then
      out[#out + 1] = b.run
      out[#out + 1] = b.data
      out[#out + 1] = '1'
      found = found + math.min(b.count, b.last - after)
    end
  end
end
-- The batch that holds the next position began before it.
local from = int(after + 1) .. '-0'
local holds = redis.call('XREVRANGE', LOG, from, '-', 'COUNT', 1)[1]
if holds and entry(holds).last > after then from = holds[1] end
local upto = w and int(math.max(w.logto, 0)) .. '-0' or '+'
if limit > 0 and found >= limit then return out end
repeat
  local batches = redis.call('XRANGE', LOG, from, upto, 'COUNT', 32)
  for i, raw in ipairs(batches) do
    local e = entry(raw)
    if not w or e.owner == w.number then
      out[#out + 1] = e.run
      out[#out + 1] = e.data
      out[#out + 1] = '0'
      found = found + math.min(e.count, e.last - after)
      if limit > 0 and found >= limit then return out end
    end
    from = '(' .. e.id
  end
until #batches < 32
return out
