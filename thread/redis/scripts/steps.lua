-- Reads the journal of an origin.
-- KEYS: all of the thread.
-- ARGV: origin.
-- Result: {'OK', member, document…} or {'GONE'}.
--!use head
--!use family
local origin = text()
if not load({ 'created' }) then return { 'GONE' } end
local out = records(STEPS, origin)
table.insert(out, 1, 'OK')
return out
