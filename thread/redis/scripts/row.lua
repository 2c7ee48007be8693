-- Reads a thread.
-- KEYS: all of the thread.
-- Result: {'OK', row} or {'GONE', the store's time}.
--!use thread
--!use clock
local h = load(ALL)
if not h then return { 'GONE', int(now()) } end
return { 'OK', row(h) }
