-- Lets the logs of runs go whose execution ended before a time, as soon as all
-- before them do; drops idempotency keys whose time is over.
-- KEYS: all of the thread.
-- ARGV: op, before, at most how many, at most how many namespaces of a snapshot.
-- Result: {'OK', row, how many runs, cut as findcut tells it} or {'GONE'}.
--!use cut
--!use keep
local op, before, limit, namespaces = text(), number(), number(), number()
local h = load(ALL)
if not h then return { 'GONE' } end
if h.op == op then return { 'OK', row(h), result_of(h)[1] or '0', told_cut(h, 'old', before, false, namespaces) } end
local ids = redis.call('ZRANGEBYSCORE', RETIRED, '-inf', '(' .. int(before), 'LIMIT', 0, limit)
for i, id in ipairs(ids) do
  redis.call('ZREM', RETIRED, id)
  local w = run_of(id)
  if w and w.logfrom ~= 0 then
    w.over = 1
    put_run(w)
  end
end
local at = now()
forget_keys(at, true)
done(h, op, { int(#ids) })
changed(h, at)
save(h)
return { 'OK', row(h), int(#ids), told_cut(h, 'old', before, false, namespaces) }
