-- Reads accepted answers.
-- KEYS: all of the thread.
-- ARGV: interrupt ids.
-- Result: {'OK', {id, value, by, at, run}…} or {'GONE'}.
--!use questions
if not load({ 'created' }) then return { 'GONE' } end
local out = { 'OK' }
for i, id in ipairs(ARGV) do
  local a = answer_of(id)
  if a then out[#out + 1] = told_answer(id, a) end
end
return out
