--!use queue
-- news tells of reviews, audit and dead letters: their versions before and now, the time of
-- the first entry that isn't sealed, and the parts that have changed.
local function news(h)
  if h.rv == 0 then return {} end
  local packed = redis.call('HGET', AUDIT, 'end')
  local c = packed and cmsgpack.unpack(packed)
  return { int(stored.rv), int(h.rv), c and c[3] < c[1] and int(c[6]) or '0', parts }
end

-- row is a thread as it is told to the caller, with what is derived from it.
local function row(h)
  local details = redis.call('HMGET', DETAILS, 'metadata', 'config', 'error')
  local retired = redis.call('ZRANGE', RETIRED, 0, 0, 'WITHSCORES')
  local deliveries = redis.call('HGETALL', OUTBOX)
  local outbox = {}
  for i = 1, #deliveries, 2 do
    local d = cmsgpack.unpack(deliveries[i + 1])
    outbox[#outbox + 1] = deliveries[i]
    outbox[#outbox + 1] = int(d.due)
  end
  return { int(h.created), int(h.updated), int(h.supdated), int(h.temp), int(h.expires), h.ttl, int(h.status), h.head,
    int(h.gen), int(h.nseq), int(h.npos), int(h.ended), int(h.v), int(h.mv), int(next_due(h)),
    retired[2] and int(tonumber(retired[2])) or '0', details[1] or '', details[2] or '', details[3] or '', outbox, int(h.stale), int(h.logbytes), news(h) }
end
