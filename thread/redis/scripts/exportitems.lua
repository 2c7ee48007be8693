-- Reads items of a shard as they are stored, expired ones too.
-- KEYS: items of a shard.
-- ARGV: behind which item ('' for the first), how many.
-- Result: {where to go on ('' at the end), {namespace, key, value, created, updated, ttl, expires}…}.
--!use items
local behind, limit = text(), number()
local names = redis.call('ZRANGEBYLEX', ORDER, behind == '' and '-' or '(' .. behind, '+', 'LIMIT', 0, limit)
local out = { #names == limit and names[#names] or '' }
for i, name in ipairs(names) do
  local it = cmsgpack.unpack(redis.call('HGET', ITEMS, name))
  out[#out + 1] = { it.ns, it.key, it.value, int(it.created), int(it.updated), int(it.ttl), int(it.expires) }
end
return out
