-- Removes a leased run in place of ending it.
-- KEYS: all of the thread.
-- ARGV: op, token, channel, origin, control, actor, name of the record of command writes, log batch that stays.
-- Result: {'OK', row, told} or {'FENCED'}.
--!use undone
--!use remove
--!use clock
local op, token = text(), number()
take_channel()
take_actor()
who.cause = 'rollback'
local null_task, last = text(), take_batch()
local h = load(ALL)
local again = h and removed_by(h, op)
if again then return { 'OK', row(h), again.result[1] } end -- the reply was lost
if not owned(h, token) then return { 'FENCED' } end
local at = now()
who.actor = canceller(h)
local w = present(h, run_of(h.runid))
h.npos = math.max(h.pos, last and last.last or 0) + 1
h.nseq = math.max(h.seq, last and last.seq or 0) + 1
undo_tasks(h, w)
local told = undo(h, w, last, null_task, at)
remember_removed(h, w, op, at, { told })
done(h, op)
changed(h, at)
save(h)
return { 'OK', row(h), told }
