-- Stores one transition of a leased run that asks nothing, adds no audit entry and doesn't end it: what is done most.
-- KEYS: all of the thread.
-- ARGV: op, token, run id, commit id, channel, origin, control, actor, n checkpoints, n task records,
--   n steps (origin, member, document), log batch.
-- Result: {'OK'}, and '1' if it superseded reviews; {'REPEAT'}; {'CONFLICT', why}; {'FENCED'}.
--!use commit
--!use clock
local c = take_commit()
local h = load(STEP)
if not owned(h, c.token) then return { ended_with(h, c) and 'REPEAT' or 'FENCED' } end
if repeats(c, h.commit) then return { 'REPEAT' } end
local why = impossible(h, c)
if why then return { 'CONFLICT', why } end
store_commit(h, c, now())
save(h)
return { 'OK', h.rv ~= stored.rv and '1' or nil }
