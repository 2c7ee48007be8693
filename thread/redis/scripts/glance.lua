-- Reads what a search shows of a thread, and no more: it reads a page of them.
-- KEYS: the first three of the thread.
-- Result: {head…} and {metadata, config, error} as they are stored; nothing for a thread that doesn't exist.
--!use keys
local head = redis.call('HMGET', HEAD, 'created', 'updated', 'supdated', 'temp', 'expires', 'ttl', 'status', 'head', 'gen', 'nseq', 'npos', 'ended')
if not head[1] then return {} end
return { head, redis.call('HMGET', DETAILS, 'metadata', 'config', 'error') }
