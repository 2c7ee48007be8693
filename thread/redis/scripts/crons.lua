-- Reads crons.
-- KEYS: rows, next firings.
-- ARGV: id ('' for all), until (0: whenever): only those that fire until then.
-- Result: {next, document…}.
--!use args
local id, until_at = text(), number()
local out = {}
local function show(packed)
  if not packed then return end
  local c = cmsgpack.unpack(packed)
  out[#out + 1] = int(c.next)
  out[#out + 1] = c.doc
end
if id ~= '' then
  show(redis.call('HGET', KEYS[1], id))
elseif until_at > 0 then
  for i, due in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', int(until_at))) do show(redis.call('HGET', KEYS[1], due)) end
else
  for i, packed in ipairs(redis.call('HVALS', KEYS[1])) do show(packed) end
end
return out
