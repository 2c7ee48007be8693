-- Reads a thread.
-- KEYS: all of the thread.
-- Result: {'OK', row} or {'GONE'}.
--!use thread
local h = load(ALL)
if not h then return { 'GONE' } end
return { 'OK', row(h) }
