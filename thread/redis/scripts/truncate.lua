-- Empties a thread of its runs, its checkpoints, or both. For tests.
-- KEYS: all of the thread.
-- ARGV: runs, checkpoints.
-- Result: {'OK', row} or {'GONE'}.
--!use thread
--!use clock
local runs, checkpoints = flag(), flag()
local h = load(ALL)
if not h then return { 'GONE' } end
if checkpoints then
  redis.call('DEL', CHECKPOINTS, INDEX, NAMESPACES, TASKS, QUESTIONS, OPEN, REVIEWS, STEPS, BLOBS, SEGMENTS)
  h.head, h.open, h.supdated, h.ended = '', 0, 0, 0
end
if runs then
  redis.call('DEL', RUNS, ORDER, LOG, IDEMPOTENT, RETIRED)
  redis.call('HDEL', DETAILS, 'owed')
  h.running, h.runid, h.token, h.due, h.queue, h.cancel, h.suspended, h.owed = 0, '', h.token + 1, 0, '', '', 0, 0
  settle(h)
end
changed(h, now())
save(h)
return { 'OK', row(h) }
