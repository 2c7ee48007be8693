--!use runs
--!use log
-- Batches whose numbers are given here (thread.FloatingBatch).
local function uvarint(n)
  local out = {}
  while n >= 128 do
    out[#out + 1] = string.char(n % 128 + 128)
    n = math.floor(n / 128)
  end
  out[#out + 1] = string.char(n)
  return table.concat(out)
end

local function take_floating()
  return { head = text(), middle = text(), tail = text(), entries = number(), numbered = number(), millis = number() }
end

-- land gives a floating batch the next numbers of a thread on which nothing is leased.
local function land(h, f)
  jump(h)
  local data = f.head .. uvarint(h.npos) .. f.middle
  if f.numbered > 0 then data = data .. uvarint(2 * h.nseq) .. f.tail end
  local batch = { first = h.npos, last = h.npos + f.entries - 1, count = f.entries, millis = f.millis, data = data, seq = 0 }
  if f.numbered > 0 then batch.seq = h.nseq + f.numbered - 1 end
  h.npos, h.nseq = h.npos + f.entries, h.nseq + f.numbered
  return batch
end

-- tell stores what is told of a run that isn't running. Its row, if it is still there and
-- has no log, owns the batch.
local function tell(h, told, run, f)
  local batch, owner = land(h, f), 0
  local w = run ~= '' and run_of(run)
  if w and w.logfrom == 0 then
    w.logfrom, w.logto, w.logseq, w.bytes, owner = batch.first, batch.last, batch.seq, #batch.data, w.number
    put_run(w)
  end
  append(h, batch, owner, run)
  told[#told + 1] = run
  told[#told + 1] = batch.data
  return told
end

-- leave makes the thread due for removal if it was made for one stateless run.
local function leave(h, w, at)
  if w.leaves ~= 0 then h.expires, h.ttl = at, 'delete' end
end

-- dropped tells of a pending run that will never begin: at once, or, while another
-- is leased, which alone may write to the log, in the transition that ends that one.
local function dropped(h, told, run, f)
  if h.running == 0 then
    tell(h, told, run, f)
    announce_end(run)
    return
  end
  local owed = h.owed > 0 and cmsgpack.unpack(redis.call('HGET', DETAILS, 'owed')) or {}
  owed[#owed + 1] = { run, f.head, f.middle, f.tail, f.entries, f.numbered, f.millis }
  h.owed = #owed
  redis.call('HSET', DETAILS, 'owed', cmsgpack.pack(owed))
  announce_end(run)
end

-- tell_owed tells of the runs that were dropped while the one that has just ended was leased.
local function tell_owed(h, told)
  if h.owed == 0 then return told end
  for i, o in ipairs(cmsgpack.unpack(redis.call('HGET', DETAILS, 'owed'))) do
    tell(h, told, o[1], { head = o[2], middle = o[3], tail = o[4], entries = o[5], numbered = o[6], millis = o[7] })
  end
  redis.call('HDEL', DETAILS, 'owed')
  h.owed = 0
  return told
end
