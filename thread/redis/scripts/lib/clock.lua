-- now is the store's time in microseconds: no replica's clock counts.
local function now()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end
