--!use args
--!use clock
--!use sha256
-- The audit chain of a project: a hash of its entries by number; ENDS holds how many there are and the last seal.
local ENDS, SEALED, CHAIN, NOTE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- append_sealed adds an entry and returns its number and seal.
local function append_sealed(project, thread, n, at, prev, hash, body)
  local seq, last = string.match(redis.call('HGET', ENDS, project) or '0 ', '^(%d+) (.*)$')
  seq = tonumber(seq) + 1
  local seal = sha256(table.concat({ last, int(seq), thread, hash }, '\n'))
  redis.call('HSET', CHAIN, int(seq), cmsgpack.pack({ thread, n, at, prev, hash, body, seal }))
  redis.call('HSET', ENDS, project, int(seq) .. ' ' .. seal)
  return { int(seq), seal }
end

-- append_single adds an entry without a thread; sum is the hash of its body.
local function append_single(project, body, sum, at)
  return append_sealed(project, '', 0, at, '', sha256(table.concat({ '', '0', int(at), sum }, '\n')), body)
end

-- Entries that were sealed before are looked for among so many of the newest.
local BACK = 1000

-- sealed_before finds the number and seal of an entry; 0 for one that lies too far back.
local function sealed_before(project, thread, hash)
  local newest = tonumber(string.match(redis.call('HGET', ENDS, project) or '0', '^%d+'))
  for seq = newest, math.max(1, newest - BACK), -1 do
    local e = cmsgpack.unpack(redis.call('HGET', CHAIN, int(seq)))
    if e[1] == thread and e[5] == hash then return { int(seq), e[7] } end
  end
  return { '0', '' }
end
