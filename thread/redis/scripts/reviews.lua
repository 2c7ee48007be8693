-- Reads reviews.
-- KEYS: all of the thread.
-- ARGV: interrupt ids; none for all.
-- Result: {'OK', the store's time, generation that questions get which an edit asks, and the running run, review…} or {'GONE'} without the thread.
--!use questions
local h = load({ 'created', 'gen', 'asked', 'open', 'running', 'rv' })
if not h then return { 'GONE' } end
local edit = (h.asked ~= 0 or h.open == 0) and h.gen + 1 or h.gen
local out = { 'OK', int(now()), int(edit), int(h.asked ~= h.running and h.gen + 1 or h.gen) }
local ids = ARGV
if #ids == 0 and h.rv ~= 0 then
  for i, name in ipairs(redis.call('HKEYS', REVIEWS)) do
    if string.sub(name, 1, 1) == 'r' then ids[#ids + 1] = string.sub(name, 2) end
  end
end
for i, id in ipairs(ids) do
  local r = reviews.of(h, id)
  if r then out[#out + 1] = reviews.told(id, r) end
end
return out
