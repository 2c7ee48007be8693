-- Ends a run that lost its worker too often.
-- KEYS: all of the thread.
-- ARGV: op, token of the lease that ran out, channel, origin, control, actor, finish, floating batch that tells of the end.
-- Result: {'OK', row, told} or {'FENCED'} when it is owned again.
--!use finish
--!use clock
local op, token = text(), number()
take_channel()
take_actor()
local f, last = take_finish(), take_floating()
local at = now()
local h = load(ALL)
if h and h.op == op then return { 'OK', row(h), {} } end
if not owned(h, token) or h.due > at then return { 'FENCED' } end
next_token(h, at) -- whoever had it, has it no longer
local batch = land(h, last)
append(h, batch, h.running, h.runid)
local told = { h.runid, batch.data }
for i, v in ipairs(finish(h, f, '')) do told[#told + 1] = v end
done(h, op)
changed(h, at)
save(h)
return { 'OK', row(h), told }
