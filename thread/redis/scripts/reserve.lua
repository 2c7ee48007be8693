-- Extends the ranges of reserved numbers.
-- KEYS: head.
-- ARGV: token, bounds of the lease (seq, pos, frames) as its owner knows them, how many more.
-- Result: {'OK', seq, pos, frames} or {'FENCED'}. Asking again with the same bounds reserves nothing more.
--!use lease
local token, seq, pos, frames, more = number(), number(), number(), number(), number()
local h = load({ 'created', 'running', 'token', 'nseq', 'npos', 'freserved' })
if not owned(h, token) then return { 'FENCED' } end
h.nseq = math.max(h.nseq, seq + more + 1)
h.npos = math.max(h.npos, pos + more + 1)
h.freserved = math.max(h.freserved, frames + more)
save(h)
return { 'OK', int(h.nseq - 1), int(h.npos - 1), int(h.freserved) }
