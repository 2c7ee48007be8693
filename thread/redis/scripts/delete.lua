-- Deletes a thread with everything of it. One with an audit chain is gone, but what is left of it waits
-- until the chain is sealed (bury).
-- KEYS: all of the thread.
-- ARGV: channel, origin, control, actor, audit entry of the deletion: body, sum.
-- Result: {'OK', version, run ids, '1' if its chain is to be sealed}, or {'GONE', the store's time, '1' while its deletion is under way}.
--!use questions
--!use queue
take_channel()
take_actor()
who.cause, who.silent = 'delete', true
local body, sum = text(), text()
local h = load(ALL)
if not h then return { 'GONE', int(now()), redis.call('HEXISTS', HEAD, 'leaving') } end
local runs = redis.call('ZRANGE', ORDER, 0, -1)
changed(h, now())
local chained = h.rv ~= 0 and chain.ending().n > 0
if chained then
  for i, id in ipairs(open_questions()) do close_question(h, id, SUPERSEDED) end
  chain.note(h, chain.ending().project, body, sum)
  if before_save then before_save(h) end
  local keys = {}
  for i, key in ipairs(KEYS) do
    if key ~= HEAD and key ~= AUDIT then keys[#keys + 1] = key end
  end
  redis.call('UNLINK', HEAD, unpack(keys))
  redis.call('HSET', HEAD, 'leaving', '1')
else
  redis.call('UNLINK', unpack(KEYS))
end
if channel ~= '' then redis.call('PUBLISH', channel, 'D\n' .. origin) end
return { 'OK', int(h.v), runs, chained and '1' or '0' }
