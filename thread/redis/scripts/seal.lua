-- Appends entries of a thread's audit chain, or one without a thread, to the chain of the project.
-- KEYS: ends of projects, sealed, the project's chain, note of the operation.
-- ARGV: project, thread id, hash of the thread's first entry, n entries (number, time, prev, hash, body); without a thread time 0 is now,
--   and the hash is that of the body.
-- Result: {'OK', how many were new, {number in the project, seal}…}, or {'GAP', number of the last entry of the thread that is sealed}.
--!use project
local project, thread, chain_id = text(), text(), text()
local entries = {}
for i = 1, number() do entries[i] = { n = number(), at = number(), prev = text(), hash = text(), body = text() } end
if thread == '' then
  if redis.call('EXISTS', NOTE) == 1 then return { 'OK', '0' } end
  redis.call('SET', NOTE, '', 'EX', 60) -- the reply may be lost
  local out = { 'OK', '1' }
  for i, e in ipairs(entries) do out[#out + 1] = append_single(project, e.body, e.hash, now()) end
  return out
end
local have = tonumber(redis.call('HGET', SEALED, chain_id) or '0')
if entries[1].n > have + 1 then return { 'GAP', int(have) } end
local out, fresh = { 'OK', '0' }, 0
for i, e in ipairs(entries) do
  if e.n <= have then -- the reply was lost
    out[#out + 1] = sealed_before(project, thread, e.hash)
  else
    out[#out + 1] = append_sealed(project, thread, e.n, e.at, e.prev, e.hash, e.body)
    fresh = fresh + 1
  end
end
redis.call('HSET', SEALED, chain_id, int(math.max(have, entries[#entries].n)))
out[2] = int(fresh)
return out
