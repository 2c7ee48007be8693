-- Gives a leased run back unfinished.
-- KEYS: all of the thread.
-- ARGV: op, token.
-- Result: {'OK', row} or {'FENCED'}.
--!use lease
--!use clock
local op, token = text(), number()
local h = load(ALL)
if h and h.releaseop == op then return { 'OK', row(h) } end
if not owned(h, token) then return { 'FENCED' } end
local at = now()
next_token(h, at)
h.released, h.worker, h.due = 1, '', at
h.releaseop = op
done(h, op)
changed(h, at)
save(h)
return { 'OK', row(h) }
