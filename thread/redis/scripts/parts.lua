-- Reads what is derived from the reviews and dead letters of a thread.
-- KEYS: all of the thread.
-- Result: {'OK', version of parts, part…} or {'GONE'} without the thread.
--!use dead
--!use questions
local h = load({ 'created', 'rv' })
if not h then return { 'GONE' } end
local out = { 'OK', int(h.rv) }
for i, name in ipairs(redis.call('HKEYS', REVIEWS)) do
  local id = string.sub(name, 2)
  if string.sub(name, 1, 1) == 'r' then out[#out + 1] = reviews.part(id, reviews.of(h, id)) end
end
local all = redis.call('HGETALL', DEAD)
for i = 1, #all, 2 do out[#out + 1] = told_dead(all[i], cmsgpack.unpack(all[i + 1])) end
return out
