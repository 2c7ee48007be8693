-- Deletes a thread with everything of it.
-- KEYS: all of the thread.
-- Result: {'OK', version, run ids}, or {'GONE', the store's time}.
--!use queue
--!use clock
local h = load(ALL)
if not h then return { 'GONE', int(now()) } end
local runs = redis.call('ZRANGE', ORDER, 0, -1)
changed(h, now())
redis.call('UNLINK', unpack(KEYS))
return { 'OK', int(h.v), runs }
