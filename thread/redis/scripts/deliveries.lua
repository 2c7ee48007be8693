-- Reads the webhooks of a thread.
-- KEYS: all of the thread.
-- ARGV: '1' for those that are tried no more.
-- Result: {{id, run, url, attempt, due, event, interrupt, error}…}.
--!use keys
--!use args
local out, all = {}, redis.call('HGETALL', flag() and DEAD or OUTBOX)
for i = 1, #all, 2 do
  local d = cmsgpack.unpack(all[i + 1])
  out[#out + 1] = { all[i], d.run, d.url, int(d.attempt), int(d.due), d.event or '', d.interrupt or '', d.error or '' }
end
return out
