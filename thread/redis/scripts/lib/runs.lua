--!use thread
-- Rows of runs. A run that has been claimed stays pending in its row until it
-- ends; the head tells which one runs, and all that changes meanwhile.
local PENDING, RUNNING, SUCCESS, ERROR, CANCELLED = 0, 1, 2, 3, 4

-- What a row holds, in the order in which it is packed.
local COLUMNS = { 'number', 'status', 'created', 'updated', 'started', 'ended', 'notbefore', 'attempt', 'cancel',
  'suspended', 'base', 'logfrom', 'logto', 'cpfrom', 'cpto', 'fingerprint', 'commit', 'execution', 'op', 'writes', 'resumes',
  'logseq', 'bytes', -- of its log: the last seq, and the size
  'over',            -- its execution ended so long ago that its log goes as soon as all before it does
  'leaves',          -- its thread goes with it
  'webhook' }

-- arms_call tells whether a cancel's action cancels nothing before a call of the run (thread.ArmsCall).
local function arms_call(action) return string.sub(action, 1, 5) == 'call ' end

local function run_of(id)
  local packed = redis.call('HGET', RUNS, 's' .. id)
  if not packed then return nil end
  local values, w = cmsgpack.unpack(packed), { id = id }
  for i, name in ipairs(COLUMNS) do w[name] = values[i] end
  return w
end

local function put_run(w)
  local values = {}
  for i, name in ipairs(COLUMNS) do values[i] = w[name] end
  redis.call('HSET', RUNS, 's' .. w.id, cmsgpack.pack(values))
end

local function drop_run(w)
  redis.call('HDEL', RUNS, 's' .. w.id, 'd' .. w.id, 'e' .. w.id)
  redis.call('ZREM', ORDER, w.id)
  redis.call('ZREM', RETIRED, w.id)
end

-- Runs that were removed are remembered for a while, so that whoever repeats the
-- admission or the removal gets the result of the first time.
local REMEMBERED, WHILE = 16, 60 * 1000000

local function removed_runs(h)
  return h.removed > 0 and cmsgpack.unpack(redis.call('HGET', DETAILS, 'removed')) or {}
end

local function remember_removed(h, w, op, at, result)
  local list = {}
  for i, r in ipairs(removed_runs(h)) do
    if r.at > at - WHILE then list[#list + 1] = r end
  end
  if #list == REMEMBERED then table.remove(list, 1) end
  list[#list + 1] = { id = w.id, admission = w.op, op = op, at = at, result = result }
  h.removed = #list
  redis.call('HSET', DETAILS, 'removed', cmsgpack.pack(list))
end

-- removed_by finds the run that an operation removed, removed_of the one that it admitted.
local function removed_by(h, op)
  for i, r in ipairs(removed_runs(h)) do
    if r.op == op then return r end
  end
end

local function removed_of(h, op)
  for i, r in ipairs(removed_runs(h)) do
    if r.admission == op then return r end
  end
end

local function id_of(run)
  return redis.call('ZRANGEBYSCORE', ORDER, int(run), int(run))[1]
end

-- present adds to the row of the running run what the head says of it.
local function present(h, w)
  if w.status == PENDING and h.running == w.number then
    w.status, w.attempt, w.started, w.cancel, w.base = RUNNING, h.attempt, h.started, h.cancel, h.base
    w.logfrom, w.logto, w.logseq, w.bytes = h.logfrom, h.pos, h.seq, h.runbytes
    w.cpfrom, w.cpto = h.cpfrom, h.cps
    w.updated = math.max(w.updated, h.started)
  end
  return w
end

-- told_run is a row as it is told to the caller; w is as present made it.
local function told_run(w)
  local rest = redis.call('HMGET', RUNS, 'd' .. w.id, 'e' .. w.id)
  return { w.id, int(w.number), int(w.status), int(w.created), int(w.updated), int(w.started), int(w.ended), int(w.notbefore),
    int(w.attempt), w.cancel, int(w.suspended), w.base, w.execution, rest[1] or '', rest[2] or '' }
end
