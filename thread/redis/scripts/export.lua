-- Reads what a dump takes of a thread and only scripts can read.
-- KEYS: all of the thread.
-- ARGV: what: 'details'; 'runs' and run ids; 'questions' and ids; or 'outbox'.
-- Result: of details {metadata, config, error, who cancelled the running run, owed runs {run, head, middle, tail, entries, numbered, millis}, snapshot {run, first, last, data}};
--   else a list: of runs {document, error, when its execution ended, name and value…}, of questions {id, status, document,
--   {namespace, checkpoint, task, run, generation, created} or {}, {value, by, at, run, fingerprint} or {}},
--   of the outbox {id, run, url, attempt, due, error, event, interrupt, '1' for one that is tried no more}.
--!use cut
local what, out = text(), {}
local read = {}
function read.details()
  local d = redis.call('HMGET', DETAILS, 'metadata', 'config', 'error', 'owed', 'canceller')
  local owed, batches = {}, {}
  for i, o in ipairs(d[4] and cmsgpack.unpack(d[4]) or {}) do
    owed[i] = { o[1], o[2], o[3], o[4], int(o[5]), int(o[6]), int(o[7]) }
  end
  for i, b in ipairs(snapshot()) do batches[i] = { b.run, int(b.first), int(b.last), b.data } end
  out = { d[1] or '', d[2] or '', d[3] or '', d[5] or '', owed, batches }
end
function read.runs(id)
  local w = run_of(id)
  if not w then return end
  local rest = redis.call('HMGET', RUNS, 'd' .. id, 'e' .. id)
  local run = { rest[1] or '', rest[2] or '', redis.call('ZSCORE', RETIRED, id) or '0', 'id', id }
  for i, name in ipairs(COLUMNS) do
    local v = w[name]
    if type(v) == 'number' then v = int(v) end
    run[#run + 1] = name
    run[#run + 1] = v
  end
  out[#out + 1] = run
end
function read.questions(id)
  local q, a = question(id), answer_of(id)
  out[#out + 1] = { id, question_status(id), redis.call('HGET', QUESTIONS, 'v' .. id) or '',
    q and { q.ns, q.checkpoint, q.task, q.run, int(q.gen), int(q.created) } or {},
    a and { a.value, a.by, int(a.at), a.run, a.fingerprint or '' } or {} }
end
function read.outbox()
  for dead, key in pairs({ ['0'] = OUTBOX, ['1'] = DEAD }) do
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
      local d = cmsgpack.unpack(all[i + 1])
      out[#out + 1] = { all[i], d.run, d.url, int(d.attempt), int(d.due), d.error or '', d.event or '', d.interrupt or '', dead }
    end
  end
end
if taken == #ARGV then read[what]() end
while taken < #ARGV do read[what](text()) end
return out
