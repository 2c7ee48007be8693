-- Reads a thread.
-- KEYS: all of the thread.
-- Result: {'OK', row}, or {'GONE', the store's time, '1' while its deletion is under way}.
--!use thread
--!use clock
local h = load(ALL)
if not h then return { 'GONE', int(now()), redis.call('HEXISTS', HEAD, 'leaving') } end
return { 'OK', row(h) }
