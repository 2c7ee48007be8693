-- Deletes an assistant with its versions.
-- KEYS: current versions, all versions, note of this deletion.
-- ARGV: id.
-- Result: {'OK'} or {'GONE'}.
--!use args
local id = text()
local packed = redis.call('HGET', KEYS[1], id)
if not packed then return { redis.call('EXISTS', KEYS[3]) == 1 and 'OK' or 'GONE' } end
redis.call('SET', KEYS[3], '', 'EX', 60) -- the reply may be lost
for v = 1, cmsgpack.unpack(packed).newest do redis.call('HDEL', KEYS[2], int(v) .. ':' .. id) end
redis.call('HDEL', KEYS[1], id)
return { 'OK' }
