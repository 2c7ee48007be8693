-- Reads assistants as they are, or the versions of one.
-- KEYS: current versions, all versions.
-- ARGV: id ('' for all), and whether its versions are asked for.
-- Result: {id, version, created, updated, changes, document…}; of versions, newest first, created is when each was made.
--!use args
local CURRENT, VERSIONS = unpack(KEYS)
local id, versions = text(), flag()
local out = {}
local function show(name, a, v, at)
  local stored = cmsgpack.unpack(redis.call('HGET', VERSIONS, int(v) .. ':' .. name))
  for i, value in ipairs({ name, int(v), int(at or a.created), int(at or a.updated), int(a.changes), stored.doc }) do out[#out + 1] = value end
end
if id == '' then
  local all = redis.call('HGETALL', CURRENT)
  for i = 1, #all, 2 do
    local a = cmsgpack.unpack(all[i + 1])
    show(all[i], a, a.version)
  end
  return out
end
local packed = redis.call('HGET', CURRENT, id)
if not packed then return out end
local a = cmsgpack.unpack(packed)
if not versions then
  show(id, a, a.version)
  return out
end
for v = a.newest, 1, -1 do
  show(id, a, v, cmsgpack.unpack(redis.call('HGET', VERSIONS, int(v) .. ':' .. id)).at)
end
return out
