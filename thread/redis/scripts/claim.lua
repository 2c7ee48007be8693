-- Leases the thread's next run that may start, or the running one if its lease ran out.
-- KEYS: all of the thread.
-- ARGV: op, channel, origin, control, run id ('' for any), claim (worker, lease, reserve, most attempts).
-- Result: {'OK', run, row, lease}; {'LOST', token, now, run} for a run that was tried too often;
--   {'NONE', row} when nothing may start; {'GONE'}.
--!use lease
--!use clock
local op = text()
take_channel()
local want = text()
local c = take_claim()
local at = now()
local h = load(ALL)
if not h then return { 'GONE' } end
if h.claimop == op and h.running ~= 0 then -- the reply was lost
  return { 'OK', told_run(present(h, run_of(h.runid))), row(h), told_lease(h) }
end
if h.running == 0 then
  local w
  for i, p in ipairs(waiting(h)) do
    if p.at <= at then
      w = run_of(id_of(p.run))
      break
    end
  end
  if not w or want ~= '' and w.id ~= want then return { 'NONE', row(h) } end
  begin(h, w, c, at)
else
  if h.due > at or want ~= '' and h.runid ~= want then return { 'NONE', row(h) } end
  local lost = h.lost + (h.released == 0 and 1 or 0)
  if lost >= c.max then return { 'LOST', int(h.token), int(at), told_run(present(h, run_of(h.runid))) } end
  h.lost = lost
  if jump(h) then h.freserved = h.freserved + JUMP end
  h.fbase = h.freserved + 1
  h.freserved = h.fbase + c.reserve
  h.attempt = h.attempt + 1
  lease(h, c, at)
end
h.claimop = op
done(h, op)
changed(h, at)
save(h)
return { 'OK', told_run(present(h, run_of(h.runid))), row(h), told_lease(h) }
