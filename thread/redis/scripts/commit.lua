-- Stores one transition of a leased run that asks questions, adds audit entries, or, with a finish, ends it; others are steps.
-- KEYS: all of the thread.
-- ARGV: op, token, run id, commit id, channel, origin, control, actor, n checkpoints, n task records,
--   n steps (origin, member, document), log batch, finish, n drafts, n audit entries (project, body, sum).
-- Result: {'OK', row, told}; {'REPEAT', row, told}, of which told is empty unless the reply to this op was lost;
--   {'MISFIT'} when the drafts don't fit; {'CONFLICT', why}; {'FENCED'}.
--!use commit
--!use finish
--!use clock
local c = take_commit()
local f = take_finish()
reviews.take_drafts()
local entries = {}
for i = 1, number() do entries[i] = { project = text(), body = text(), sum = text() } end

local h = load(ALL)
if not owned(h, c.token) then
  if ended_with(h, c) then return { 'REPEAT', row(h), h.op == c.op and result_of(h)[1] or {} } end
  return { 'FENCED' }
end
if repeats(c, h.commit) then return { 'REPEAT', row(h), {} } end
local why = impossible(h, c)
if why then return { 'CONFLICT', why } end
if misfit(h, c.tasks, h.running, c.checkpoints) then return { 'MISFIT' } end

local at = now()
store_commit(h, c, at)
for i, e in ipairs(entries) do chain.note(h, e.project, e.body, e.sum) end
local told = {}
if f then
  h.npos, h.nseq = h.pos + 1, h.seq + 1 -- back from the reserved range
  told = finish(h, f, c.id)
  done(h, c.op, #told > 0 and { told } or nil)
end
changed(h, at)
save(h)
return { 'OK', row(h), told }
