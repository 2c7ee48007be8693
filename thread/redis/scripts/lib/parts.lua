--!use args
-- The keys of a shard.
local ENTRIES, INDEX, QUEUE, EXPIRING, RETIRING, DELIVERIES, OWNERS, DIRTY, UNSEALED, PARTS, PART_INDEX, PART_DUE, PART_IDS = unpack(KEYS)

-- Parts of threads: reviews and dead letters. PARTS has of each what is in the other keys,
-- and its version. In PART_INDEX 't' and the thread lists those of a thread.
local function part_field(thread, name) return #thread .. ':' .. thread .. name end

local function drop_part(field)
  local packed = redis.call('HGET', PARTS, field)
  if not packed then return end
  local p = cmsgpack.unpack(packed)
  for i, m in ipairs(p.members) do redis.call('ZREM', PART_INDEX, m) end
  for i, id in ipairs(p.ids) do redis.call('HDEL', PART_IDS, id) end
  redis.call('ZREM', PART_INDEX, 't' .. field)
  redis.call('ZREM', PART_DUE, field)
  redis.call('HDEL', PARTS, field)
end

local function put_part(field, p)
  local packed = redis.call('HGET', PARTS, field)
  if packed and cmsgpack.unpack(packed).v >= p.v then return end
  drop_part(field)
  if #p.members == 0 then return end
  for i, m in ipairs(p.members) do redis.call('ZADD', PART_INDEX, 0, m) end
  for i, id in ipairs(p.ids) do redis.call('HSET', PART_IDS, id, field) end
  redis.call('ZADD', PART_INDEX, 0, 't' .. field)
  if p.due > 0 then redis.call('ZADD', PART_DUE, int(p.due), field) end
  redis.call('HSET', PARTS, field, cmsgpack.pack({ v = p.v, members = p.members, ids = p.ids }))
end

-- drop_parts removes those of a thread but for the fields to be kept.
local function drop_parts(thread, keep)
  local from = 't' .. part_field(thread, '')
  for i, m in ipairs(redis.call('ZRANGEBYLEX', PART_INDEX, '[' .. from, '[' .. from .. '\255')) do
    local field = string.sub(m, 2)
    if not keep[field] then drop_part(field) end
  end
end

local function take_parts()
  local c = { from = number(), to = number(), all = flag(), list = {} }
  for i = 1, number() do
    local p = { name = text(), v = number(), due = number(), ids = {}, members = {} }
    for j = 1, number() do p.ids[j] = text() end
    for j = 1, number() do p.members[j] = text() end
    c.list[i] = p
  end
  return c
end

-- derive_parts writes changed parts. It returns whether older changes are missing.
local function derive_parts(thread, have, c)
  have.rv = have.rv or 0
  local keep = {}
  for i, p in ipairs(c.list) do
    local field = part_field(thread, p.name)
    keep[field] = true
    put_part(field, p)
  end
  if c.all and c.to >= have.rv then
    drop_parts(thread, keep)
    have.rv = c.to
  elseif c.from == have.rv then
    have.rv = c.to
  end
  return have.rv < c.to
end
