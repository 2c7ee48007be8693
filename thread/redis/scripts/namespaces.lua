-- Lists the namespaces that have checkpoints: the root first, then those written last.
-- KEYS: all of the thread.
-- ARGV: how many.
-- Result: {'OK', namespace…} or {'GONE'}.
--!use head
local limit = number()
if not load({ 'created' }) then return { 'GONE' } end
local out = { 'OK' }
if limit > 0 and redis.call('ZSCORE', NAMESPACES, '') then out[2] = '' end
for i, ns in ipairs(redis.call('ZREVRANGE', NAMESPACES, 0, math.max(limit, 0))) do
  if ns ~= '' and #out <= limit then out[#out + 1] = ns end
end
return out
