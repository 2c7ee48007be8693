-- Notes where entries of the audit chain are sealed.
-- KEYS: all of the thread.
-- ARGV: hash of the chain's first entry, number of the first that was sealed, n (number in the project, seal).
-- Result: {'OK', row}, {'LEFT'} for a thread whose deletion is under way, or {'GONE'} without the chain.
--!use thread
--!use chain
local first, from, n = text(), number(), number()
local c = chain.ending()
if c.n == 0 or c.first ~= first then return { 'GONE' } end
local h = load(ALL)
for i = from, from + n - 1 do redis.call('HSET', AUDIT, 's' .. int(i), text() .. ' ' .. text()) end
if from + n - 1 > c.sealed then
  c.sealed = from + n - 1
  c.since = c.sealed < c.n and tonumber(chain.entry(c.sealed + 1)[2]) or 0
  chain.put_end()
  if h then changed(h, now()) end
end
if not h then return { 'LEFT' } end
save(h)
return { 'OK', row(h) }
