-- Removes what is left of a thread that was deleted, once its audit chain is sealed.
-- KEYS: all of the thread.
-- Result: {'OK'}, or {'UNSEALED'}.
--!use chain
if redis.call('HEXISTS', HEAD, 'leaving') == 0 then return { 'OK' } end
local c = chain.ending()
if c.sealed < c.n then return { 'UNSEALED' } end
redis.call('UNLINK', HEAD, AUDIT)
return { 'OK' }
