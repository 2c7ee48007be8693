-- Tells where a thread's log starts and ends.
-- KEYS: head, log, details.
-- Result: {'OK', first position kept or 0, last position, last seq} or {'GONE'}.
--!use log
local h = load({ 'created', 'running', 'nseq', 'npos', 'seq', 'pos' })
if not h then return { 'GONE' } end
local first = redis.call('XRANGE', LOG, '-', '+', 'COUNT', 1)[1]
local start = first and int(entry(first).first) or '0'
for i, b in ipairs(snapshot()) do
  start = int(b.first)
  break
end
if h.running ~= 0 then return { 'OK', start, int(h.pos), int(h.seq) } end -- the counters stand behind what is reserved
return { 'OK', start, int(h.npos - 1), int(h.nseq - 1) }
