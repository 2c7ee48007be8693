-- Reads sealed audit entries of a project.
-- KEYS: ends of projects, sealed, the project's chain.
-- ARGV: behind which number, how many.
-- Result: {{number, seal, thread, number in the thread, time, prev, hash, body}…}.
--!use args
local after, limit = number(), number()
local out = {}
for i, packed in ipairs(redis.call('LRANGE', KEYS[3], after, after + limit - 1)) do
  local e = cmsgpack.unpack(packed)
  out[i] = { int(after + i), e[7], e[1], int(e[2]), int(e[3]), e[4], e[5], e[6] }
end
return out
