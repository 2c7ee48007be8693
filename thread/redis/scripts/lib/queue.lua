--!use head
-- The runs that wait for their turn, in its order: that of their admission, but that
-- answers come first.
local function waiting(h)
  local list = {}
  for run, at in string.gmatch(h.queue, '(%d+):(%d+)') do
    list[#list + 1] = { run = tonumber(run), at = tonumber(at) }
  end
  return list
end

-- enqueue puts a run at the end, or, with a turn, before the one whose that is.
local function enqueue(h, run, at, turn)
  local list = {}
  for i, p in ipairs(waiting(h)) do list[i] = int(p.run) .. ':' .. int(p.at) end
  table.insert(list, turn or #list + 1, int(run) .. ':' .. int(at))
  h.queue = table.concat(list, ' ')
end

local function unqueue(h, run)
  local kept = {}
  for i, p in ipairs(waiting(h)) do
    if p.run ~= run then kept[#kept + 1] = int(p.run) .. ':' .. int(p.at) end
  end
  h.queue = table.concat(kept, ' ')
end

local function inflight(h) return h.running ~= 0 or h.queue ~= '' end

-- next_due is when the thread gives work next; 0 for never.
local function next_due(h)
  if h.running ~= 0 then return math.max(h.due, 1) end
  local due = 0
  for i, p in ipairs(waiting(h)) do
    local at = math.max(p.at, 1)
    if due == 0 or at < due then due = at end
  end
  return due
end

-- settle sets the status: that at rest, or busy while runs are inflight.
local function settle(h)
  h.status = inflight(h) and BUSY or h.rest
  if h.status ~= FAILED then redis.call('HDEL', DETAILS, 'error') end
end
