-- Stores an API key, or ends one, with the audit entry of that.
-- KEYS: ends of projects, sealed, the project's chain, note of the operation, keys.
-- ARGV: what: 'create' or 'revoke', id, document, project, body, sum.
-- Result: {'OK', document}, {'EXISTS'}, or {'GONE'} without such a key. One that is revoked already stays as it is.
--!use project
local KEYS_BY_ID = KEYS[5]
local what, id, doc, project, body, sum = text(), text(), text(), text(), text(), text()
local have = redis.call('HGET', KEYS_BY_ID, id)
if redis.call('EXISTS', NOTE) == 1 then return { 'OK', have } end -- the reply was lost
if what == 'create' and have then return { 'EXISTS' } end
if what == 'revoke' then
  if not have then return { 'GONE' } end
  if string.sub(have, 1, 1) == 'x' then return { 'OK', have } end
  doc = 'x' .. doc
else
  doc = '-' .. doc
end
redis.call('SET', NOTE, '', 'EX', 60)
redis.call('HSET', KEYS_BY_ID, id, doc)
append_single(project, body, sum, now())
return { 'OK', doc }
