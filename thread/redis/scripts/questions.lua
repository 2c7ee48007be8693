-- Reads the open questions of a thread.
-- KEYS: all of the thread.
-- Result: {'OK', {id, namespace, checkpoint, task, run, generation, created, document}…} or {'GONE'}.
--!use questions
if not load({ 'created' }) then return { 'GONE' } end
local out = { 'OK' }
for i, id in ipairs(open_questions()) do
  local q = question(id)
  out[#out + 1] = { id, q.ns, q.checkpoint, q.task, q.run, int(q.gen), int(q.created), redis.call('HGET', QUESTIONS, 'v' .. id) }
end
return out
