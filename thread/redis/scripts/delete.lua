-- Deletes a thread with everything of it.
-- KEYS: all of the thread.
-- ARGV: channel, origin, control.
-- Result: {'OK', version, run ids}, or {'GONE', the store's time}.
--!use queue
--!use clock
--!use log
take_channel()
local h = load(ALL)
if not h then return { 'GONE', int(now()) } end
local runs = redis.call('ZRANGE', ORDER, 0, -1)
changed(h, now())
redis.call('UNLINK', unpack(KEYS))
if channel ~= '' then redis.call('PUBLISH', channel, 'D\n' .. origin) end
return { 'OK', int(h.v), runs }
