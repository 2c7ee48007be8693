-- Writes what is derived from a thread into the indexes of its shard. Older
-- versions than what is there are left out, so that writers may come in any order.
-- KEYS: all of the shard.
-- ARGV: thread id, version (0: the thread doesn't exist), version of a deleted thread,
--   due, expires, retires (0: none), n index members, n deliveries (id, due),
--   version of metadata (0: as it is), n index members of metadata, mark to be removed ('' for none), wake channel ('' for none);
--   time of the first audit entry that isn't sealed (0: none), versions of the parts before and now (0: there never were any),
--   whether the parts are all there are, n parts (name, version, due, n ids, n index members; without members it is gone).
-- Result: 1 if it was written, 2 if changes of parts are missing that nobody has written yet: then the mark stays.
--!use args
--!use parts
local id, v, gone = text(), number(), number()
local due, expires, retires = number(), number(), number()
local members, outbox, metadata = {}, {}, {}
for i = 1, number() do members[i] = text() end
for i = 1, number() do outbox[i] = { id = text(), due = text() } end
local mv = number()
for i = 1, number() do metadata[i] = text() end
local mark, wake = text(), text()
local unsealed, changed = number(), take_parts()

-- An entry is the versions, for who compares, and all else.
local packed = redis.call('HGET', ENTRIES, id)
local have = packed and cmsgpack.unpack(string.match(packed, '^%d+ %d+ (.*)$') or string.match(packed, '^%d+ (.*)$')) or { v = 0, mv = 0, members = {}, metadata = {}, outbox = {}, rv = 0 }
local function put() redis.call('HSET', ENTRIES, id, int(have.v) .. ' ' .. int(have.rv) .. ' ' .. cmsgpack.pack(have)) end

local behind = v > 0 and derive_parts(id, have, changed)
if mark ~= '' and not behind then redis.call('ZREM', DIRTY, mark) end

-- replace makes the index hold the new members in place of the old ones.
local function replace(old, new)
  local keep, have = {}, {}
  for i, m in ipairs(new) do keep[m] = true end
  for i, m in ipairs(old) do
    if keep[m] then have[m] = not changed.all else redis.call('ZREM', INDEX, m) end -- all is written when something may be wrong
  end
  for i, m in ipairs(new) do
    if not have[m] then redis.call('ZADD', INDEX, 0, m) end
  end
end

local function at(key, score)
  if score == 0 then
    redis.call('ZREM', key, id)
  else
    redis.call('ZADD', key, int(score), id)
  end
end

if v == 0 and have.v > gone then return 0 end
if v > 0 and have.v > v and (mv == 0 or have.mv > mv) then
  put()
  return behind and 2 or 0
end
if v == 0 or v >= have.v then
  at(QUEUE, due)
  at(EXPIRING, expires)
  at(RETIRING, retires)
  at(UNSEALED, unsealed)
  replace(have.members, members)
  for i, d in ipairs(have.outbox) do
    redis.call('ZREM', DELIVERIES, d)
    redis.call('HDEL', OWNERS, d)
  end
  local ids = {}
  for i, d in ipairs(outbox) do
    redis.call('ZADD', DELIVERIES, d.due, d.id)
    redis.call('HSET', OWNERS, d.id, id)
    ids[i] = d.id
  end
  have.v, have.members, have.outbox = v, members, ids
end
if v == 0 or mv > 0 and mv >= have.mv then
  replace(have.metadata, metadata)
  have.mv, have.metadata = mv, metadata
end
if v == 0 then
  redis.call('HDEL', ENTRIES, id)
  drop_parts(id, {})
else
  put()
end
if wake ~= '' then redis.call('PUBLISH', wake, 'W') end
return behind and 2 or 1
