-- Stores one transition of a leased run; with a finish, its end.
-- KEYS: all of the thread.
-- ARGV: op, token, run id, commit id, channel, origin, control, actor, n checkpoints, n task records,
--   n steps (origin, member, document), log batch, finish, whether it may change reviews or audit; then
--   n drafts, n audit entries (project, body, sum).
-- Result: {'OK'}, and '1' if reviews have changed all the same; with a finish or a change of reviews or audit {'OK', row, told};
--   {'REPEAT'}, likewise {'REPEAT', row, told}, of which told is empty unless the reply to this op was lost;
--   {'MISFIT', generation} when the drafts don't fit; {'CONFLICT', why}; {'FENCED'}.
--!use finish
--!use clock
local op, token, run, id = text(), number(), text(), text()
take_channel()
who.take()
who.cause = 'run'
local checkpoints, tasks, steps = take_checkpoints(), take_tasks(), {}
for i = 1, number() do steps[i] = { origin = text(), member = text(), doc = text() } end
local batch, f, reviewed = take_batch(), take_finish(), flag()
local entries = {}
if reviewed then
  reviews.take_drafts()
  for i = 1, number() do entries[i] = { project = text(), body = text(), sum = text() } end
end
local whole = f or reviewed

-- repeats tells whether a commit was stored before the newest or is the newest: ids end in a counter.
local function repeats(newest)
  if newest == '' or id == '' then return false end
  if newest == id then return true end
  local a, m = string.match(newest, '^(.-)(%d+)$')
  local b, n = string.match(id, '^(.-)(%d+)$')
  return a ~= nil and a == b and tonumber(n) <= tonumber(m)
end

local h = load(whole and ALL or STEP)
if not owned(h, token) then
  local w = h and run_of(run)
  if w and w.status > RUNNING and repeats(w.commit) then return { 'REPEAT', whole and row(h), whole and h.op == op and result_of(h)[1] or {} } end
  return { 'FENCED' }
end
if repeats(h.commit) then return { 'REPEAT', whole and row(h), {} } end
local why = refused(h, checkpoints, true)
if why then return { 'CONFLICT', why } end
local place_of = batch and fits(h, batch)
if place_of == 'other' then return { 'CONFLICT', 'log position ' .. int(batch.first) .. ' is taken' } end
local gen = reviewed and misfit(h, tasks, h.running, checkpoints)
if gen then return { 'MISFIT', int(gen) } end

local at = now()
for i, cp in ipairs(checkpoints) do put_checkpoint(h, cp, at) end
for i, t in ipairs(tasks) do
  put_task(t)
  ask(h, t, h.runid, h.running, at)
end
for i, s in ipairs(steps) do put_record(STEPS, s.origin, s.member, s.doc) end
if place_of == 'new' then append(h, batch, h.running, h.runid) end
for i, e in ipairs(entries) do note(h, e.project, e.body, e.sum) end
h.commit = id
if not f then
  if whole then changed(h, at) end
  save(h)
  if whole then return { 'OK', row(h), {} } end
  return { 'OK', h.rv ~= stored.rv and '1' or nil }
end
h.npos, h.nseq = h.pos + 1, h.seq + 1 -- back from the reserved range
local told = finish(h, f, id)
done(h, op, #told > 0 and { told } or nil)
changed(h, at)
save(h)
return { 'OK', row(h), told }
