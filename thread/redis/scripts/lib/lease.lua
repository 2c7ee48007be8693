--!use runs
--!use log
-- Claims and leases.
local function owned(h, token) return h and h.running ~= 0 and h.token == token end

local function take_claim()
  return { worker = text(), lease = number(), reserve = number(), max = number() }
end

-- next_token ends the lease that there is, if any. Tokens follow the clock: what another master
-- gives, one that was deposed without knowing it, or gave to a deleted thread of that id, is no owner here.
local function next_token(h, at) h.token = math.max(h.token + 1, at) end

-- lease gives the running run of h to a worker, with numbers of its own.
local function lease(h, c, at)
  jump(h)
  next_token(h, at)
  h.released, h.worker, h.due, h.commit = 0, c.worker, at + c.lease, ''
  h.sseq, h.spos = h.nseq, h.npos
  h.seq, h.pos = h.nseq - 1, h.npos - 1
  h.nseq, h.npos = h.nseq + c.reserve + 1, h.npos + c.reserve + 1
  h.status = BUSY
  redis.call('HDEL', DETAILS, 'error')
  hint(h.runid)
end

-- begin starts a pending run.
local function begin(h, w, c, at)
  unqueue(h, w.number)
  h.running, h.runid, h.attempt, h.lost, h.started, h.cancel = w.number, w.id, 1, 0, at, arms_call(w.cancel) and w.cancel or ''
  jump(h)
  h.fbase = w.number <= h.jumped and JUMP or 0 -- what the server has lost may have begun it
  h.freserved, h.runbytes = h.fbase + c.reserve, 0
  h.base, h.baserest, h.cpfrom = h.head, h.rest, h.cps + 1
  lease(h, c, at)
  h.logfrom = h.spos
end

-- told_lease is the lease as it is told to its owner.
local function told_lease(h)
  return { h.runid, h.worker, int(h.token), int(h.due), int(h.sseq), int(h.spos), int(h.nseq - 1), int(h.npos - 1),
    int(h.fbase), int(h.freserved), int(h.lost) }
end
