-- Adds an entry to the audit chain of a thread.
-- KEYS: all of the thread.
-- ARGV: op, project, body, sum.
-- Result: {'OK', row} or {'GONE'}.
--!use thread
--!use chain
local op, project, body, sum = text(), text(), text(), text()
local h = load(ALL)
if not h then return { 'GONE' } end
if h.op == op then return { 'OK', row(h) } end
note(h, project, body, sum)
done(h, op)
changed(h, moment())
save(h)
return { 'OK', row(h) }
