-- Adds an entry to the audit chain of a thread.
-- KEYS: all of the thread.
-- ARGV: op, project, body, sum.
-- Result: {'OK', row} or {'GONE'}.
--!use thread
--!use chain
local op, project, body, sum = text(), text(), text(), text()
local h = load(ALL)
if not h then return { 'GONE' } end
-- Others may have come in between: the newest such operations are remembered, not only the last transition.
local packed, REMEMBERED_NOTES = redis.call('HGET', AUDIT, 'ops'), 32
local ops = packed and cmsgpack.unpack(packed) or {}
for i, known in ipairs(ops) do
  if known == op then return { 'OK', row(h) } end
end
ops[#ops + 1] = op
if #ops > REMEMBERED_NOTES then table.remove(ops, 1) end
redis.call('HSET', AUDIT, 'ops', cmsgpack.pack(ops))
chain.note(h, project, body, sum)
done(h, op)
changed(h, chain.moment())
save(h)
return { 'OK', row(h) }
