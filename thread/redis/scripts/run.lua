-- Reads runs of a thread.
-- KEYS: all of the thread.
-- ARGV: what: 'id' and a run id; 'key' and an idempotency key; 'newest', the newest that doesn't wait
--   for its beginning; 'inflight'; or 'list', offset, limit (0: all), status (-1: all), execution ('': all).
-- Result: {'OK', run…} or {'GONE'} without the thread.
--!use runs
--!use clock
local what = text()
local h = load(ALL)
if not h then return { 'GONE' } end
local out = { 'OK' }
local function show(id)
  local w = run_of(id)
  if w then out[#out + 1] = told_run(present(h, w)) end
end
if what == 'id' then
  show(text())
elseif what == 'key' then
  local id, expires = string.match(redis.call('HGET', IDEMPOTENT, text()) or '', '^(.*) (%d+)$')
  if id and tonumber(expires) > now() then show(id) end
elseif what == 'newest' then
  local from = 0
  repeat
    local ids = redis.call('ZREVRANGE', ORDER, from, from + 15)
    for i, id in ipairs(ids) do
      if present(h, run_of(id)).status ~= PENDING then
        show(id)
        return out
      end
    end
    from = from + 16
  until #ids < 16
elseif what == 'inflight' then
  if h.running ~= 0 then show(h.runid) end
  for i, p in ipairs(waiting(h)) do show(id_of(p.run)) end
else
  local skip, limit, status, execution = number(), number(), number(), text()
  if status < 0 and execution == '' then
    for i, id in ipairs(redis.call('ZRANGE', ORDER, skip, limit > 0 and skip + limit - 1 or -1)) do show(id) end
    return out
  end
  local from = execution ~= '' and redis.call('ZRANK', ORDER, execution) or 0 -- the first of its runs
  for i, id in ipairs(redis.call('ZRANGE', ORDER, from, -1)) do
    if limit > 0 and #out > limit then break end
    local w = run_of(id)
    if (execution == '' or w.execution == execution) and (status < 0 or present(h, w).status == status) then
      if skip > 0 then
        skip = skip - 1
      else
        show(id)
      end
    end
  end
end
return out
