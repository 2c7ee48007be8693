-- Reads the webhooks of a thread.
-- KEYS: all of the thread.
-- Result: {{id, run, url, attempt, due}…}.
--!use keys
--!use args
local out, all = {}, redis.call('HGETALL', OUTBOX)
for i = 1, #all, 2 do
  local d = cmsgpack.unpack(all[i + 1])
  out[#out + 1] = { all[i], d.run, d.url, int(d.attempt), int(d.due) }
end
return out
