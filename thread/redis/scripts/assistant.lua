-- Stores a version of an assistant.
-- KEYS: current versions, all versions.
-- ARGV: op; what: 'create', 'patch' or 'current'; id, version ('patch': that the change was made of), created, updated, document.
-- Result: {'OK', version, created, updated, document}, {'EXISTS'}, {'GONE'}, {'STALE'} when it was changed meanwhile.
--!use args
local CURRENT, VERSIONS = unpack(KEYS)
local op = text()
local what, id, version, created, updated, doc = text(), text(), number(), number(), number(), text()
local packed = redis.call('HGET', CURRENT, id)
local a = packed and cmsgpack.unpack(packed)
local function field(v) return int(v) .. ':' .. id end
local again = a and a.op == op
if again then
  -- the reply was lost
elseif what == 'create' then
  if a then return { 'EXISTS' } end
  a = { version = 1, newest = 1, created = created, updated = updated, changes = 0 }
  redis.call('HSET', VERSIONS, field(1), cmsgpack.pack({ at = created, doc = doc }))
else
  if not a then return { 'GONE' } end
  if what == 'patch' then
    if a.changes ~= version then return { 'STALE' } end
    a.newest = a.newest + 1
    a.version = a.newest
    redis.call('HSET', VERSIONS, field(a.version), cmsgpack.pack({ at = updated, doc = doc }))
  else
    if redis.call('HEXISTS', VERSIONS, field(version)) == 0 then return { 'GONE' } end
    a.version = version
  end
  a.updated = updated
end
if not again then
  a.changes, a.op = a.changes + 1, op
  redis.call('HSET', CURRENT, id, cmsgpack.pack(a))
end
local v = cmsgpack.unpack(redis.call('HGET', VERSIONS, field(a.version)))
return { 'OK', int(a.version), int(a.created), int(a.updated), v.doc }
