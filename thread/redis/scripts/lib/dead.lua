--!use head
-- Webhooks: those in OUTBOX are tried until they are taken, those in DEAD no more.

-- told_dead is what is derived from one that is dead; from one that is no more without d.
local function told_dead(id, d) return { 'd' .. id, d and int(d.pv) or '0', d and int(d.due) or '0' } end

local function bury(h, id, d, at)
  parts_change(h, at)
  d.pv = h.rv
  redis.call('HSET', DEAD, id, cmsgpack.pack(d))
  parts[#parts + 1] = told_dead(id, d)
end

local function unbury(h, id, at)
  parts_change(h, at)
  redis.call('HDEL', DEAD, id)
  parts[#parts + 1] = { 'd' .. id, int(h.rv), '0' }
end
