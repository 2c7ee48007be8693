--!use sha256
--!use clock
--!use head
-- The thread's audit chain (thread.AuditEntry). AUDIT holds its entries by number, where
-- each is sealed as 's' and number, and the 'end': how many there are, the last one's
-- hash, how many are sealed, the project, the first one's hash, and the time of the
-- first that isn't sealed.
local function make_chain(chain)
local last

-- ending is the end of the chain; put_end stores it.
function chain.ending()
  if not last then
    local packed = redis.call('HGET', AUDIT, 'end')
    local v = packed and cmsgpack.unpack(packed) or { 0, '', 0, '', '', 0 }
    last = { n = v[1], last = v[2], sealed = v[3], project = v[4], first = v[5], since = v[6] }
  end
  return last
end

function chain.put_end()
  redis.call('HSET', AUDIT, 'end', cmsgpack.pack({ last.n, last.last, last.sealed, last.project, last.first, last.since }))
end

-- moment is the time of all that one transition does to reviews and audit.
local since
function chain.moment()
  since = since or now()
  return since
end

-- link is the hash of an entry; sum is that of its body.
local function link(prev, n, at, sum) return sha256(table.concat({ prev, int(n), int(at), sum }, '\n')) end

-- note adds an entry to the chain and returns its hash. The chain belongs to the
-- project that its first entry names.
function chain.note(h, project, body, sum)
  local c, at = chain.ending(), chain.moment()
  if c.n == 0 then c.project = project end
  c.n = c.n + 1
  local hash = link(c.last, c.n, at, sum)
  redis.call('HSET', AUDIT, int(c.n), cmsgpack.pack({ at, c.last, hash, body }))
  if c.n == 1 then c.first = hash end
  if c.sealed == c.n - 1 then c.since = at end
  c.last = hash
  chain.put_end()
  parts_change(h, at)
  return hash
end

-- entry is an entry as it is told to the caller: {number, time, prev, hash, body}; nil when there is none.
function chain.entry(n)
  local packed = redis.call('HGET', AUDIT, int(n))
  if not packed then return nil end
  local v = cmsgpack.unpack(packed)
  return { int(n), int(v[1]), v[2], v[3], v[4] }
end
end

-- Most transitions write no entry: what that takes is made at its first use.
local chain = setmetatable({}, { __index = function(t, name)
  setmetatable(t, nil)
  make_chain(t)
  return t[name]
end })
