-- Stores one transition of a leased run that asks nothing, adds no audit entry and doesn't end it: what is done most.
-- KEYS: all of the thread.
-- ARGV: op, token, run id, commit id, channel, origin, control, actor, n checkpoints, n task records,
--   n steps (origin, member, document), log batch.
-- Result: {'OK'}, and '1' if it superseded reviews; {'REPEAT'}, and '1' if it may have; {'CONFLICT', why}; {'FENCED'}.
--!use commit
--!use clock
local c = take_commit()
local h = load(STEP)
-- Who did it first may have had no time to derive.
local function repeated() return { 'REPEAT', h.rv > 0 and '1' or nil } end
if not owned(h, c.token) then return ended_with(h, c) and repeated() or { 'FENCED' } end
if repeats(c, h.commit) then return repeated() end
local why = impossible(h, c)
if why then return { 'CONFLICT', why } end
store_commit(h, c, now())
save(h)
return { 'OK', h.rv ~= stored.rv and '1' or nil }
