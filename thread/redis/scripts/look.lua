-- Looks for threads that give work.
-- KEYS: queue of a shard.
-- ARGV: how many.
-- Result: {the store's time, thread id, when…}, earliest first; one that isn't due yet ends the list.
--!use args
--!use clock
local at, limit = now(), number()
local out = { int(at) }
local list = redis.call('ZRANGE', KEYS[1], 0, limit - 1, 'WITHSCORES')
for i = 1, #list, 2 do
  local score = tonumber(list[i + 1])
  out[#out + 1] = list[i]
  out[#out + 1] = int(score)
  if score > at then break end
end
return out
