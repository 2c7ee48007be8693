-- Reads entries of the audit chain, also of a thread whose deletion is under way.
-- KEYS: all of the thread.
-- ARGV: 'all', of a thread that exists; or 'from', a number (0: of the first that isn't sealed) and how many at most.
-- Result: {'OK', project, hash of the first entry, how many are sealed, {number, time, prev, hash, body, number in the project or 0, seal}…} or {'GONE'}.
--!use chain
local all = text() == 'all'
if all and not load({ 'created' }) then return { 'GONE' } end
local c = chain.ending()
if c.n == 0 then return all and { 'OK', '', '', '0' } or { 'GONE' } end
local out = { 'OK', c.project, c.first, int(c.sealed) }
local from, to = 1, c.n
if not all then
  from = number()
  if from == 0 then from = c.sealed + 1 end
  to = math.min(c.n, from + number() - 1)
end
for n = from, to do
  local e = chain.entry(n)
  local seq, seal = string.match(redis.call('HGET', AUDIT, 's' .. int(n)) or '', '^(%d+) (.*)$')
  e[6], e[7] = seq or '0', seal or ''
  out[#out + 1] = e
end
return out
