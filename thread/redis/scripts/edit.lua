-- Stores a state update from outside.
-- KEYS: all of the thread.
-- ARGV: op, channel, origin, control, actor, namespace, expected head, at (0: now), n checkpoints, n task records,
--   0 or 1 and a floating batch that tells of it; n drafts.
-- Result: {'OK', row, first pos, first seq}, {'BUSY'}, {'CONFLICT', why}, {'MISFIT', generation} when the drafts don't fit, or {'GONE'}.
--!use finish
--!use clock
local op = text()
take_channel()
take_actor()
who.cause = 'edit'
local ns, expected, given = text(), text(), number()
local checkpoints, tasks = take_checkpoints(), take_tasks()
local floating = flag() and take_floating() or nil
reviews.take_drafts()
local h = load(ALL)
if not h then return { 'GONE' } end
if h.op == op then -- the reply was lost
  local n, m = floating and floating.entries or 0, floating and floating.numbered or 0
  return { 'OK', row(h), int(h.npos - n), int(h.nseq - m) }
end
if inflight(h) then return { 'BUSY' } end
local head = ns == '' and h.head or head_of(ns)
if head ~= expected then return { 'CONFLICT', 'head of ' .. ns .. ' is ' .. head .. ', not ' .. expected } end
local why = refused(h, checkpoints, false)
if why then return { 'CONFLICT', why } end
local gen = misfit(h, tasks, 0, checkpoints)
if gen then return { 'MISFIT', int(gen) } end
local present_at = now()
local at = given > 0 and given or present_at
local first = #checkpoints > 0 and h.cps + 1 or 0
for i, cp in ipairs(checkpoints) do put_checkpoint(h, cp, at) end
for i, t in ipairs(tasks) do
  put_task(t)
  ask(h, t, '', 0, at)
end
if floating then jump(h) end
local pos, seq = h.npos, h.nseq
if floating then append(h, land(h, floating), 0, '', first) end
h.ended, h.updated = 1, at
done(h, op)
changed(h, present_at)
save(h)
return { 'OK', row(h), int(pos), int(seq) }
