-- Stores parts of a thread of a dump. The thread exists once adopt has stored its head.
-- KEYS: all of the thread.
-- ARGV: parts, each a kind and what it has (see below).
-- Result: {}.
--!use cut
local put = {}

function put.blob() redis.call('HSET', BLOBS, text(), text()) end

function put.segment()
  local id, base, len, from, n = text(), text(), number(), number(), number()
  for i = 1, n do redis.call('HSET', SEGMENTS, '@' .. id .. ':' .. int(from + i - 1), text()) end
  redis.call('HSET', SEGMENTS, '#' .. id, int(from + n) .. ' ' .. int(len) .. ' ' .. base)
end

function put.checkpoint()
  local seq, doc = number(), text()
  local ns, id = address(doc)
  redis.call('HSET', CHECKPOINTS, int(seq), doc, 'i' .. within(ns) .. id, int(seq))
  redis.call('ZADD', INDEX, 0, place(ns, seq))
  if seq > tonumber(redis.call('ZSCORE', NAMESPACES, ns) or 0) then redis.call('ZADD', NAMESPACES, int(seq), ns) end
end

function put.task() put_record(TASKS, text(), text(), text()) end

function put.step() put_record(STEPS, text(), text(), text()) end

function put.question()
  local id, status = text(), text()
  redis.call('HSET', QUESTIONS, 's' .. id, status)
  if flag() then
    local q = { ns = text(), checkpoint = text(), task = text(), run = text(), gen = number(), created = number() }
    redis.call('HSET', QUESTIONS, 'q' .. id, cmsgpack.pack(q), 'v' .. id, text())
    if status == ASKED then redis.call('ZADD', OPEN, int(q.created), id) end
  end
  if flag() then
    redis.call('HSET', QUESTIONS, 'a' .. id,
      cmsgpack.pack({ value = text(), by = text(), at = number(), run = text(), fingerprint = text() }))
  end
end

function put.review()
  local id, r = text(), { pv = 1, ids = {}, notify = {}, pieces = {} }
  for i = 1, number() do r.ids[i] = text() end
  local doc = text()
  for i, name in ipairs({ 'status', 'project', 'digest', 'assignee', 'role', 'comments', 'by', 'decision', 'notes', 'decider', 'decidedby' }) do r[name] = text() end
  for i, name in ipairs({ 'version', 'created', 'updated', 'claimed', 'expires', 'warn', 'escalations', 'at' }) do r[name] = number() end
  for i = 1, number() do r.notify[i] = text() end
  for i = 1, 4 do r.pieces[i] = text() end
  local q = question(id)
  r.gen, r.run, r.ns, r.checkpoint = q.gen, q.run, q.ns, q.checkpoint
  redis.call('HSET', REVIEWS, 'd' .. id, doc)
  reviews.put(id, r)
end

function put.audit()
  local n, at, prev, hash, body, seq, seal, project = number(), number(), text(), text(), text(), text(), text(), text()
  redis.call('HSET', AUDIT, int(n), cmsgpack.pack({ at, prev, hash, body }), 's' .. int(n), seq .. ' ' .. seal)
  local c = chain.ending()
  c.n, c.sealed, c.last, c.project = n, n, hash, project
  if n == 1 then c.first = hash end
  chain.put_end()
end

function put.log()
  local run, checkpoint, owner, batch = text(), number(), number(), take_batch()
  redis.call('XADD', LOG, int(batch.first) .. '-0', 'h',
    string.format('%d %d %d %d %d %d', batch.last, batch.seq, batch.count, owner, batch.millis, checkpoint), 'r', run, 'd', batch.data)
end

function put.run()
  local w, doc, failure, retires = {}, text(), text(), number()
  for i = 1, number() do
    local name = text()
    w[name] = text()
  end
  for i = 1, number() do
    local name = text()
    w[name] = number()
  end
  w.resumes = {}
  for i = 1, number() do w.resumes[i] = text() end
  for i, name in ipairs(COLUMNS) do
    if w[name] == nil then w[name] = 0 end
  end
  put_run(w)
  redis.call('HSET', RUNS, 'd' .. w.id, doc)
  if failure ~= '' then redis.call('HSET', RUNS, 'e' .. w.id, failure) end
  redis.call('ZADD', ORDER, int(w.number), w.id)
  if retires > 0 then redis.call('ZADD', RETIRED, int(retires), w.id) end
end

function put.key() redis.call('HSET', IDEMPOTENT, text(), text() .. ' ' .. text()) end

function put.delivery()
  local id, dead = text(), flag()
  redis.call('HSET', dead and DEAD or OUTBOX, id, cmsgpack.pack({ run = text(), url = text(), attempt = number(), due = number(), error = text(),
    event = text(), interrupt = text(), pv = 1 }))
end

while taken < #ARGV do put[text()]() end
return {}
