-- Reads items of a shard in the order of namespace and key.
-- KEYS: items of a shard.
-- ARGV: namespace that all others begin with ('' for any), behind which item ('' for the first), how many.
-- Result: {where to go on ('' at the end), item…}.
--!use items
local prefix, behind, limit = text(), text(), number()
local at = now()
while purge(at) do end
local out, low = { '' }, '-'
if behind ~= '' then
  low = '(' .. behind
elseif prefix ~= '' then
  low = '[' .. prefix .. '\31'
end
local high = prefix ~= '' and '(' .. prefix .. '\32' or '+'
local names = redis.call('ZRANGEBYLEX', ORDER, low, high, 'LIMIT', 0, limit)
for i, name in ipairs(names) do
  local it = item(name, at)
  if it then out[#out + 1] = told_item(it) end
end
if #names == limit then out[1] = names[#names] end
return out
