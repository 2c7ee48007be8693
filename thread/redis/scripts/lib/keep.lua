--!use clock
--!use keys
-- forget_keys drops idempotency keys whose time is over, once there are many.
local function forget_keys(at, always)
  if not always and redis.call('HLEN', IDEMPOTENT) < 64 then return end
  local all = redis.call('HGETALL', IDEMPOTENT)
  for i = 1, #all, 2 do
    if tonumber(string.match(all[i + 1], '%d+$')) <= at then redis.call('HDEL', IDEMPOTENT, all[i]) end
  end
end
