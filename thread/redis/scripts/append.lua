-- Stores a batch of log entries of a leased run.
-- KEYS: head, log.
-- ARGV: token, channel, origin, control, log batch.
-- Result: {'OK'}, {'CONFLICT', why} or {'FENCED'}.
--!use lease
local token = number()
take_channel()
local batch = take_batch()
local h = load({ 'created', 'running', 'runid', 'token', 'seq', 'pos', 'logbytes', 'runbytes' })
if not owned(h, token) then return { 'FENCED' } end
local place_of = fits(h, batch)
if place_of == 'torn' then return { 'CONFLICT', 'what came before log position ' .. int(batch.first) .. ' is lost' } end
if place_of == 'other' then return { 'CONFLICT', 'log position ' .. int(batch.first) .. ' is taken' } end
if place_of == 'new' then append(h, batch, h.running, h.runid) end
save(h)
return { 'OK' }
