--!use keys
--!use args
-- The head of a thread: what its transitions change. A field that is 0 or empty isn't stored.
local IDLE, BUSY, INTERRUPTED, FAILED = 0, 1, 2, 3

-- Fields that are text; all others are integers.
local TEXTS = { ttl = true, op = true, claimop = true, releaseop = true, epoch = true, head = true, runid = true, cancel = true, worker = true,
  base = true, queue = true, commit = true }

-- What a step in the middle of a run needs: kept short, since it is done most.
local STEP = { 'created', 'op', 'running', 'runid', 'token', 'head', 'gen', 'nseq', 'npos', 'seq', 'pos', 'supdated',
  'cps', 'cpfrom', 'open', 'asked', 'commit', 'logbytes', 'runbytes', 'rv' }

local ALL = { 'created', -- when the thread was created: it exists
  'temp', 'expires', 'ttl',
  'v', 'mv',             -- versions of what is derived from the head, and of metadata and configuration
  'op', 'kept',          -- the transition that was stored last, so that its repetition is known; whether its result is kept
  'claimop', 'releaseop', -- the claim that gave the lease; the operation that gave back the last one
  'removed',             -- how many runs were removed of late, with what was told then
  'epoch',               -- of the server that gave the last numbers, or made the thread
  'jumped',              -- number of the newest run when they last jumped
  'status', 'rest',      -- rest: the status when nothing is inflight
  'updated', 'supdated', -- supdated: of the state
  'head',                -- id of the newest root checkpoint
  'gen',
  'nseq', 'npos',        -- what the next owner starts with; behind the reserved range while a run is leased
  'sseq', 'spos',        -- what the present owner started with
  'seq', 'pos',          -- of the newest log entry
  'token', 'running', 'runid', 'attempt', 'lost', 'released', 'fbase', 'freserved', 'cancel', 'worker', 'started',
  'logfrom', 'cpfrom',   -- the running run's first position and checkpoint
  'base', 'baserest',    -- head and rest when the run was claimed
  'due',                 -- when the lease ends
  'queue',               -- pending runs: number:earliest start, by blanks
  'runs', 'cps',         -- number of the newest run and checkpoint
  'open', 'asked',       -- open questions; the run that raised the generation
  'suspended',           -- number of the last run of the suspended execution
  'ended', 'owed',       -- owed: runs that were dropped and not told of yet
  'commit',
  'stale',               -- the log's snapshot shows a run that was deleted
  'logbytes', 'runbytes', -- size of the log, and of what the running run has in it
  'rv' }                 -- version of its parts: reviews, audit entries, dead letters; 0 when there never was one

local fields, stored

-- load reads the fields named; nil when the thread doesn't exist.
local function load(names)
  fields, stored = names, {}
  local raw = redis.call('HMGET', HEAD, unpack(names))
  if not raw[1] then return nil end
  local h = {}
  for i = 1, #names do
    local name, v = names[i], raw[i]
    if TEXTS[name] then
      v = v or ''
    else
      v = v and tonumber(v) or 0
    end
    h[name], stored[name] = v, v
  end
  return h
end

-- epoch_now names the server's history: another one follows a restart or fail-over.
local epoch
local function epoch_now()
  if not epoch then epoch = string.sub(string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or '', 1, 16) end
  return epoch
end

-- fresh is the head of a thread to be.
local function fresh(created)
  fields, stored = ALL, {}
  local h = {}
  for i, name in ipairs(ALL) do
    h[name] = TEXTS[name] and '' or 0
    stored[name] = h[name]
  end
  h.created, h.updated, h.nseq, h.npos, h.v, h.mv, h.epoch = created, created, 1, 1, 1, 1, epoch_now()
  return h
end

-- What row tells of the parts that this transition changed; see parts.go.
local parts = {}

-- parts_change counts a change of parts, once in a transition.
local function parts_change(h, at)
  if h.rv == stored.rv then h.rv = math.max(h.rv + 1, at) end
end

-- before_save, when set, stores what belongs to the head.
local before_save

-- save writes what is different.
local function save(h)
  if before_save then before_save(h) end
  local set, del = {}, {}
  for i = 1, #fields do
    local name = fields[i]
    local v = h[name]
    if v == stored[name] then
      -- as it was
    elseif v == '' or v == 0 then
      del[#del + 1] = name
    else
      set[#set + 1] = name
      set[#set + 1] = TEXTS[name] and v or int(v)
    end
  end
  if #set > 0 then redis.call('HSET', HEAD, unpack(set)) end
  if #del > 0 then redis.call('HDEL', HEAD, unpack(del)) end
end

-- changed counts a change of what is derived. Versions follow the clock, so that
-- those of a thread that takes a deleted one's id are higher.
local function changed(h, at) h.v = math.max(h.v + 1, at) end

-- done notes a transition, and what its repetition is told that can't be read from
-- the thread; nil for nothing.
local function done(h, op, result)
  h.op = op
  if result then
    redis.call('HSET', DETAILS, 'result', cmsgpack.pack(result))
    h.kept = 1
  elseif h.kept ~= 0 then
    redis.call('HDEL', DETAILS, 'result')
    h.kept = 0
  end
end

-- result_of is what done kept; an empty list for nothing.
local function result_of(h)
  return h.kept ~= 0 and cmsgpack.unpack(redis.call('HGET', DETAILS, 'result')) or {}
end

-- leaving tells of a thread that doesn't exist that its audit chain waits to be sealed: nothing can take its id before.
local function leaving() return redis.call('HEXISTS', HEAD, 'leaving') == 1 end

-- above compares identifiers byte by byte; Lua's own order is the locale's.
local function above(a, b)
  local n = math.min(#a, #b)
  for i = 1, n do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x > y end
  end
  return #a > #b
end
