-- Reads what the deletion of a thread has to know.
-- KEYS: all of the thread.
-- Result: {'OK', run ids} or {'GONE'}.
--!use head
if not load({ 'created' }) then return { 'GONE' } end
return { 'OK', redis.call('ZRANGE', ORDER, 0, -1) }
