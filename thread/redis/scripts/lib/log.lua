--!use head
-- The log: a stream whose ids are the first positions of its batches.
-- Channel and origin say where to publish what is stored and by whom; control is
-- the channel for what concerns all processes.
local channel, origin, control

-- Batches above this size are announced without their data: who wants them reads the log.
local LARGE = 65536

local function take_channel() channel, origin, control = text(), text(), text() end

local function publish(batch, before)
  if channel == '' then return end
  local data = #batch.data <= LARGE and batch.data or ''
  redis.call('PUBLISH', channel, table.concat({ 'E', origin, int(before), int(batch.first), int(batch.last), batch.run, data }, '\n'))
end

-- hint tells that a run began or ended.
local function hint(run)
  if control ~= '' then redis.call('PUBLISH', control, table.concat({ 'H', origin, channel, run }, '\n')) end
end

-- announce_end tells that a run's row is final.
local function announce_end(run)
  if channel ~= '' then redis.call('PUBLISH', channel, table.concat({ 'R', origin, run }, '\n')) end
  hint(run)
end

local function take_batch()
  if not flag() then return nil end
  return { first = number(), last = number(), seq = number(), count = number(), millis = number(), data = text() }
end

-- fits tells whether a batch can be stored: 'new', 'same' when it is there, 'other', or
-- 'torn' when the server lacks what its owner stored before it: an owner leaves no holes, so
-- that was lost, or another master has it.
local function fits(h, batch)
  if batch.first > h.pos + 1 then return 'torn' end
  if batch.first > h.pos then return 'new' end
  local have = redis.call('XRANGE', LOG, int(batch.first) .. '-0', int(batch.first) .. '-0')[1]
  if not have then return 'other' end
  for i = 1, #have[2], 2 do
    if have[2][i] == 'd' then return have[2][i + 1] == batch.data and 'same' or 'other' end
  end
  return 'other'
end

-- append stores a batch of run number owner, 0 for none; run is the id that its
-- entries name. The batch of an edit tells which was its first checkpoint.
local function append(h, batch, owner, run, checkpoint)
  batch.run = run
  redis.call('XADD', LOG, int(batch.first) .. '-0', 'h',
    string.format('%d %d %d %d %d %d', batch.last, batch.seq, batch.count, owner, batch.millis, checkpoint or 0), 'r', run, 'd', batch.data)
  publish(batch, h.pos)
  h.pos = batch.last
  if batch.seq > 0 then h.seq = batch.seq end
  h.logbytes = h.logbytes + #batch.data
  if owner ~= 0 and owner == h.running then h.runbytes = h.runbytes + #batch.data end
end

-- entry reads a batch of the stream.
local function entry(raw)
  local e = { id = raw[1], first = tonumber(string.match(raw[1], '^%d+')) }
  for i = 1, #raw[2], 2 do
    local name, value = raw[2][i], raw[2][i + 1]
    if name == 'h' then
      local last, seq, count, owner, millis, checkpoint = string.match(value, '^(%d+) (%d+) (%d+) (%d+) (%-?%d+) (%d+)$')
      e.last, e.seq, e.count, e.owner = tonumber(last), tonumber(seq), tonumber(count), tonumber(owner)
      e.millis, e.checkpoint = tonumber(millis), tonumber(checkpoint)
    elseif name == 'r' then
      e.run = value
    else
      e.data = value
    end
  end
  return e
end

-- cut removes the batches from one position to another.
local function cut(h, first, last)
  local from, to = int(first) .. '-0', int(last) .. '-0'
  repeat
    local batches = redis.call('XRANGE', LOG, from, to, 'COUNT', 64)
    for i, raw in ipairs(batches) do
      h.logbytes = math.max(0, h.logbytes - #entry(raw).data)
      redis.call('XDEL', LOG, raw[1])
    end
  until #batches < 64
  if redis.call('XLEN', LOG) == 0 then redis.call('DEL', LOG) end
end

-- snapshot lists the batches that stand for the start of the log that was cut. They
-- aren't in the stream: that takes nothing before what it has.
local function snapshot()
  local packed = redis.call('HGET', DETAILS, 'snapshot')
  return packed and cmsgpack.unpack(packed) or {}
end

-- JUMP is skipped where numbers may have been given that the server has lost. A master that
-- was deposed without knowing it may give ranges to several owners: JUMP goes beyond seven.
local JUMP = 8388608

-- jump skips numbers, before new ones are given, when the server has another
-- history than the one that gave the last: after a fail-over or restart it may have
-- lost the newest (decisions 2). It tells whether that is so.
local function jump(h)
  local lost = h.epoch ~= '' and h.epoch ~= epoch_now()
  if lost then h.npos, h.nseq, h.jumped = h.npos + JUMP, h.nseq + JUMP, h.runs end
  h.epoch = epoch_now()
  return lost
end
