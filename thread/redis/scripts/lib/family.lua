-- Records of one hash that are read together: '#name' lists the members, and
-- '=name member' holds each.
local function record(name, member) return '=' .. #name .. ':' .. name .. member end

local function put_record(key, name, member, doc)
  if redis.call('HSET', key, record(name, member), doc) == 1 then
    local list = redis.call('HGET', key, '#' .. name) or ''
    redis.call('HSET', key, '#' .. name, list .. #member .. ':' .. member)
  end
end

local function members(key, name)
  local list, out, at = redis.call('HGET', key, '#' .. name) or '', {}, 1
  while at <= #list do
    local stop = string.find(list, ':', at, true)
    local n = tonumber(string.sub(list, at, stop - 1))
    out[#out + 1] = string.sub(list, stop + 1, stop + n)
    at = stop + n + 1
  end
  return out
end

-- records is a flat list of members and documents.
local function records(key, name)
  local out = {}
  for i, m in ipairs(members(key, name)) do
    out[#out + 1] = m
    out[#out + 1] = redis.call('HGET', key, record(name, m))
  end
  return out
end

local function drop_records(key, name)
  for i, m in ipairs(members(key, name)) do redis.call('HDEL', key, record(name, m)) end
  redis.call('HDEL', key, '#' .. name)
end

local function drop_record(key, name, member)
  if redis.call('HDEL', key, record(name, member)) == 0 then return end
  local kept = ''
  for i, m in ipairs(members(key, name)) do
    if m ~= member then kept = kept .. #m .. ':' .. m end
  end
  if kept == '' then
    redis.call('HDEL', key, '#' .. name)
  else
    redis.call('HSET', key, '#' .. name, kept)
  end
end
