-- Empties a thread of its runs, its checkpoints, or both. For tests.
-- KEYS: all of the thread.
-- ARGV: runs, checkpoints.
-- Result: {'OK', row} or {'GONE'}.
--!use thread
--!use lease
--!use clock
local runs, checkpoints = flag(), flag()
local h = load(ALL)
if not h then return { 'GONE' } end
local at = now()
if checkpoints then
  redis.call('DEL', CHECKPOINTS, INDEX, NAMESPACES, TASKS, QUESTIONS, OPEN, REVIEWS, STEPS, BLOBS, SEGMENTS)
  h.head, h.open, h.supdated, h.ended = '', 0, 0, 0
end
if runs then
  redis.call('DEL', RUNS, ORDER, LOG, IDEMPOTENT, RETIRED)
  redis.call('HDEL', DETAILS, 'owed')
  h.running, h.runid, h.due, h.queue, h.cancel, h.suspended, h.owed = 0, '', 0, '', '', 0, 0
  next_token(h, at)
  settle(h)
end
changed(h, at)
save(h)
return { 'OK', row(h) }
