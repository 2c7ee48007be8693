--!use questions
--!use family
-- Checkpoints by their stored sequence, with an index by namespace and id. INDEX
-- is ordered by namespace and, within it, by sequence, so that a namespace's
-- newest and its history are ranges.
local function within(ns) return #ns .. ':' .. ns .. ':' end

local function place(ns, seq) return within(ns) .. string.format('%012d', seq) end

-- address reads namespace and id off a stored checkpoint.
local function address(doc)
  local _, stop, n, m = string.find(doc, '^(%d+):(%d+):')
  n, m = tonumber(n), tonumber(m)
  return string.sub(doc, stop + 1, stop + n), string.sub(doc, stop + n + 1, stop + n + m)
end

local function checkpoint_at(seq) return redis.call('HGET', CHECKPOINTS, int(seq)) end

-- seq_of finds a checkpoint; nil when the namespace has none of that id.
local function seq_of(ns, id) return tonumber(redis.call('HGET', CHECKPOINTS, 'i' .. within(ns) .. id) or nil) end

-- newest is the sequence of the newest checkpoint of a namespace; nil for none.
local function newest(ns)
  local found = redis.call('ZREVRANGEBYLEX', INDEX, '[' .. within(ns) .. '\255', '[' .. within(ns), 'LIMIT', 0, 1)[1]
  return found and tonumber(string.sub(found, -12))
end

-- head_of is the id of the newest checkpoint of a namespace; '' for none.
local function head_of(ns)
  local seq = newest(ns)
  if not seq then return '' end
  local _, id = address(checkpoint_at(seq))
  return id
end

-- put_checkpoint stores one, already checked, as the newest of the thread.
local function put_checkpoint(h, cp, at)
  h.cps = h.cps + 1
  redis.call('HSET', CHECKPOINTS, int(h.cps), cp.doc, 'i' .. within(cp.ns) .. cp.id, int(h.cps))
  redis.call('ZADD', INDEX, 0, place(cp.ns, h.cps))
  redis.call('ZADD', NAMESPACES, int(h.cps), cp.ns)
  for i, b in ipairs(cp.blobs) do redis.call('HSETNX', BLOBS, b.id, b.data) end
  for i, l in ipairs(cp.lists) do
    local count = tonumber(string.match(redis.call('HGET', SEGMENTS, '#' .. l.segment) or '', '^%d+') or 0)
    for j, entry in ipairs(l.entries) do
      redis.call('HSETNX', SEGMENTS, '@' .. l.segment .. ':' .. int(l.from + j - 1), entry)
    end
    redis.call('HSET', SEGMENTS, '#' .. l.segment, int(math.max(count, l.from + #l.entries)) .. ' ' .. int(l.len) .. ' ' .. l.base)
  end
  if cp.ns == '' then h.head, h.supdated = cp.id, at end
  supersede(h, cp.ns, cp.id)
end

-- refused says why a list of checkpoints can't follow the head; nil if it can.
-- With rising, each root checkpoint raises what the next must lie above.
local function refused(h, list, rising)
  local floor = h.head
  for i, cp in ipairs(list) do
    if not above(cp.id, floor) then return 'checkpoint ' .. cp.id .. ' is not above the head ' .. floor end
    if rising and cp.ns == '' then floor = cp.id end
    for j, l in ipairs(cp.lists) do
      for k, entry in ipairs(l.entries) do
        local have = redis.call('HGET', SEGMENTS, '@' .. l.segment .. ':' .. int(l.from + k - 1))
        if have and have ~= entry then
          return 'entry ' .. int(l.from + k - 1) .. ' of list segment ' .. l.segment .. ' is another one'
        end
      end
    end
  end
end

-- drop_checkpoint removes one with its task records and returns its id; nil when there is none.
local function drop_checkpoint(seq)
  local doc = checkpoint_at(seq)
  if not doc then return nil end
  local ns, id = address(doc)
  redis.call('HDEL', CHECKPOINTS, int(seq), 'i' .. within(ns) .. id)
  redis.call('ZREM', INDEX, place(ns, seq))
  drop_records(TASKS, id)
  local last = newest(ns)
  if last then
    redis.call('ZADD', NAMESPACES, int(last), ns)
  else
    redis.call('ZREM', NAMESPACES, ns)
  end
  return id
end

-- forget_checkpoints removes those of a run, which lie behind one another, and the questions they ask.
local function forget_checkpoints(h, from, to)
  if from == 0 then return end
  local gone, any = {}, false
  for seq = to, from, -1 do
    local id = drop_checkpoint(seq)
    if id then gone[id], any = true, true end
  end
  if not any then return end
  for i, id in ipairs(open_questions()) do
    if gone[question(id).checkpoint] then close_question(h, id, SUPERSEDED) end
  end
  if gone[h.head] then h.head = head_of('') end
end

-- Arguments: a list of checkpoints, and one of task records.
local function take_checkpoints()
  local list = {}
  for i = 1, number() do
    local cp = { ns = text(), id = text(), parent = text(), doc = text(), blobs = {}, lists = {} }
    for j = 1, number() do cp.blobs[j] = { id = text(), data = text() } end
    for j = 1, number() do
      local l = { segment = text(), base = text(), len = number(), from = number(), entries = {} }
      for k = 1, number() do l.entries[k] = text() end
      cp.lists[j] = l
    end
    list[i] = cp
  end
  return list
end

local function take_tasks()
  local list = {}
  for i = 1, number() do
    local t = { ns = text(), checkpoint = text(), id = text(), doc = text(), done = flag(), questions = {} }
    for j = 1, number() do t.questions[j] = { id = text(), doc = text() } end
    list[i] = t
  end
  return list
end

local function put_task(t) put_record(TASKS, t.checkpoint, t.id, t.doc) end
