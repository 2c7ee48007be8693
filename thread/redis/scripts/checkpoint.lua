-- Reads checkpoints with their task records, newest first.
-- KEYS: all of the thread.
-- ARGV: namespace, id ('' for the newest), how many, and whether those before the one of that id; interrupt ids.
-- Result: {'OK', answers to the interrupts, {sequence, document, {task, document…}}…} or {'GONE'} without the thread.
--!use checkpoints
--!use questions
local ns, id, limit, before = text(), text(), number(), flag()
local h = load({ 'created', 'head' })
if not h then return { 'GONE' } end
local answers = {}
for i = 5, #ARGV do
  local a = answer_of(ARGV[i])
  if a then answers[#answers + 1] = told_answer(ARGV[i], a) end
end
local out = { 'OK', answers }
local function show(seq)
  local doc = checkpoint_at(seq)
  local _, name = address(doc)
  out[#out + 1] = { int(seq), doc, records(TASKS, name) }
end
if not before then
  if id == '' and ns == '' then id = h.head end
  local seq
  if id ~= '' then
    seq = seq_of(ns, id)
  elseif ns ~= '' then
    seq = newest(ns)
  end
  if seq then show(seq) end
  return out
end
local bound = '[' .. within(ns) .. '\255'
if id ~= '' then
  local seq = seq_of(ns, id)
  if not seq then return out end
  bound = '(' .. place(ns, seq)
end
for i, found in ipairs(redis.call('ZREVRANGEBYLEX', INDEX, bound, '[' .. within(ns), 'LIMIT', 0, limit)) do
  show(tonumber(string.sub(found, -12)))
end
return out
