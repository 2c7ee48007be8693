-- Extends a lease.
-- KEYS: head.
-- ARGV: token, duration.
-- Result: {'OK', expires, cancel action} or {'FENCED'}.
--!use lease
--!use clock
local token, d = number(), number()
local h = load({ 'created', 'running', 'token', 'due', 'cancel' })
if not owned(h, token) then return { 'FENCED' } end
h.due = now() + d
save(h)
return { 'OK', int(h.due), h.cancel }
