-- Reads sealed audit entries of a project.
-- KEYS: ends of projects, sealed, the project's chain.
-- ARGV: behind which number, how many.
-- Result: {{number, seal, thread, number in the thread, time, prev, hash, body}…}.
--!use args
local after, limit = number(), number()
local out = {}
for seq = after + 1, after + limit do
  local packed = redis.call('HGET', KEYS[3], int(seq))
  if not packed then break end
  local e = cmsgpack.unpack(packed)
  out[#out + 1] = { int(seq), e[7], e[1], int(e[2]), int(e[3]), e[4], e[5], e[6] }
end
return out
