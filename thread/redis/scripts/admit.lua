-- Admits a run: creates its thread if need be, compares the strategy with what is
-- inflight, stores answers, and claims the run where that is asked and possible.
-- KEYS: all of the thread.
-- ARGV: op, channel, origin, control, actor;
--   run: id, document, execution, created (0: now), not before, whether its thread goes with it, webhook, fingerprint, window;
--   idempotency key, its life; strategy ('keep': refused while something is inflight, or a question waits); drops pending;
--   claim: 0, or 1 and worker, lease, reserve, most attempts;
--   thread to create: 0, or 1 and created, temporary, expires, ttl, metadata, config;
--   thread read before: its metadata version (0: it did not exist), changes, metadata, config;
--   name of the record of command writes;
--   resume: 0, or 1 and head, generation, fingerprint, n answers (id, value, by, at, run), n task records, whether deadlines
--     answer, whether claims of others count, n outcomes of reviews (id, version, status, decision, notes, by, run, that as part of a body,
--     action, body, sum);
--   n floating batches: run, batch.
-- Result: {'OK', run, row, created, lease or {}, cancelled runs, told}, {'REPEAT', run, row},
--   {'DECIDED', answer}, {'EXPIRED', interrupt, when}, {'CLAIMED', interrupt, by, until}, {'CONFLICT', why}, {'BUSY'}, {'EXISTS'},
--   {'GONE'}, {'LEAVING'}, {'REMOVED', row}, {'STALE'} when the thread has moved on.
--!use remove
--!use keep
--!use clock
local op = text()
take_channel()
take_actor()
local run = { id = text(), doc = text(), execution = text(), created = number(), notbefore = number(), leaves = number(),
  webhook = text(), fingerprint = text() }
local window, key, life, strategy, drops = number(), text(), number(), text(), flag()
local claim = flag() and take_claim() or nil
local create
if flag() then
  create = { created = number(), temp = number(), expires = number(), ttl = text(), metadata = text(), config = text() }
end
local known = { mv = number(), changes = flag(), metadata = text(), config = text() }
local null_task = text()
local resume
if flag() then
  resume = { head = text(), gen = number(), fingerprint = text(), answers = {} }
  for i = 1, number() do
    resume.answers[i] = { id = text(), value = text(), by = text(), at = number(), run = text() }
  end
  resume.writes, resume.merged = take_tasks(), text()
  resume.expired, resume.claims, resume.outcomes = flag(), flag(), {}
  for i = 1, number() do
    resume.outcomes[text()] = { version = number(), status = text(), decision = text(), notes = text(), by = text(), run = text(), runpart = text(),
      action = text(), body = text(), sum = text() }
  end
end
local ends = {}
for i = 1, number() do
  local id = text()
  ends[id] = take_floating()
end

local at = now()
local h = load(ALL)
local exists = h ~= nil
if not exists and not create then return { 'GONE' } end
if not exists and leaving() then return { 'LEAVING' } end

local function again(id)
  return { 'REPEAT', told_run(present(h, run_of(id))), row(h) }
end

if exists then
  local first = run_of(run.id)
  if first and first.op == op then -- the reply was lost
    local held = claim and h.running == first.number and h.claimop == op
    local kept = h.op == op and result_of(h) or {}
    return { 'OK', told_run(present(h, first)), row(h), kept[1] or '0', held and told_lease(h) or {}, kept[2] or {}, kept[3] or {} }
  end
  local gone = not first and removed_of(h, op)
  if gone then return { 'REMOVED', row(h) } end -- the same, and it was removed since
  if key ~= '' then
    local id, expires = string.match(redis.call('HGET', IDEMPOTENT, key) or '', '^(.*) (%d+)$')
    if id and tonumber(expires) > at and run_of(id) then return again(id) end
  end
  if run.fingerprint ~= '' and inflight(h) then
    local id = id_of(h.runs)
    local newest = id and present(h, run_of(id))
    if newest and newest.fingerprint == run.fingerprint and newest.status <= RUNNING and at - newest.created <= window then
      return again(id)
    end
  end
  if first then return { 'EXISTS' } end
end

local busy = exists and inflight(h)
local list = {}
if resume then
  -- A run that answers nothing drops what others have asked, with its first commit.
  local drops = exists and h.running ~= 0 and #run_of(h.runid).resumes == 0
  local accepted
  for i, a in ipairs(resume.answers) do
    local status = exists and question_status(a.id)
    if status == ANSWERED then
      local have = answer_of(a.id)
      if resume.fingerprint == '' or have.fingerprint ~= resume.fingerprint then
        return { 'DECIDED', told_answer(a.id, have) }
      end
      accepted = have.run
    elseif status == SUPERSEDED then
      return { 'CONFLICT', 'interrupt ' .. a.id .. ' no longer waits' }
    elseif status == ASKED and drops and question(a.id).run ~= h.runid then
      return { 'CONFLICT', 'interrupt ' .. a.id .. ' is about to be dropped by run ' .. h.runid }
    end
  end
  if accepted then
    if run_of(accepted) then return again(accepted) end
    -- the run that answered was removed, what it answered stands
    return { 'DECIDED', told_answer(resume.answers[1].id, answer_of(resume.answers[1].id)) }
  end
  local head, gen = exists and h.head or '', exists and h.gen or 0
  if resume.head ~= '' and resume.head ~= head then
    return { 'CONFLICT', 'head is ' .. head .. ', not ' .. resume.head }
  end
  if resume.gen ~= 0 and resume.gen ~= gen then
    return { 'CONFLICT', 'generation is ' .. int(gen) .. ', not ' .. int(resume.gen) }
  end
  for i, t in ipairs(resume.writes) do
    if (exists and redis.call('HGET', TASKS, record(t.checkpoint, t.id)) or '') ~= resume.merged then
      return { 'CONFLICT', 'another answer came with writes on checkpoint ' .. t.checkpoint }
    end
  end
  for i, a in ipairs(resume.answers) do
    local r = exists and reviews.of(h, a.id)
    local due = r and r.expires ~= 0 and r.expires <= at
    if resume.expired then
      if not due then return { 'CONFLICT', 'the deadline of interrupt ' .. a.id .. ' has not come' } end
    elseif due then
      return { 'EXPIRED', a.id, int(r.expires) }
    elseif r and resume.claims and r.assignee ~= '' and r.assignee ~= a.by and r.claimed > at then
      return { 'CLAIMED', a.id, r.assignee, int(r.claimed) }
    end
    local o = resume.outcomes[a.id]
    if (r and r.version or 0) ~= (o and o.version or 0) then return { 'STALE' } end
  end
elseif busy and (strategy == 'reject' or strategy == 'keep') then
  return { 'BUSY' }
elseif exists and strategy == 'keep' and h.open > 0 then
  return { 'CONFLICT', 'questions wait' }
end
if exists and not busy and (known.mv == 0 or known.changes and known.mv ~= h.mv) then return { 'STALE' } end
local displaces = busy and not resume and (strategy == 'interrupt' or strategy == 'rollback')
if displaces then
  for i, p in ipairs(waiting(h)) do
    if not ends[id_of(p.run)] then return { 'STALE' } end
  end
end

-- All is right: from here on it is written.
if not exists then
  h = fresh(create.created > 0 and create.created or at)
  h.v, h.mv = at, at
  h.temp, h.expires, h.ttl = create.temp, create.expires, create.ttl
  redis.call('HSET', DETAILS, 'metadata', create.metadata, 'config', create.config)
elseif not busy and known.changes then
  redis.call('HSET', DETAILS, 'metadata', known.metadata, 'config', known.config)
  h.mv = math.max(h.mv + 1, at)
end
local cancelled, told = {}, {}
if displaces then
  if h.running ~= 0 then
    mark_cancel(h, strategy)
    cancelled[1] = told_run(present(h, run_of(h.runid)))
  end
  for i, p in ipairs(waiting(h)) do
    local w = run_of(id_of(p.run))
    cancelled[#cancelled + 1] = cancel_pending(h, told, w, strategy, at, ends[w.id], null_task)
    if strategy == 'rollback' then remember_removed(h, w, '', at, {}) end
  end
end
who.cause = 'input'
if drops then drop_pending(h, at) end
if resume then
  for i, a in ipairs(resume.answers) do
    if a.at == 0 then a.at = at end
    if a.run == '' then a.run = run.id end
    decide(h, a, resume.fingerprint)
    reviews.decide(h, a.id, resume.outcomes[a.id])
    list[i] = a.id
  end
  for i, t in ipairs(resume.writes) do put_task(t) end
end
if h.running == 0 then jump(h) end -- that is before the run: what comes between here and its beginning is not
h.runs = h.runs + 1
local created = run.created > 0 and run.created or at
local w = { id = run.id, number = h.runs, status = PENDING, created = created, updated = created, started = 0, ended = 0,
  notbefore = run.notbefore, attempt = 0, cancel = '', suspended = 0, base = h.head, logfrom = 0, logto = 0, cpfrom = 0, cpto = 0,
  fingerprint = run.fingerprint, commit = '', execution = run.execution, op = op,
  writes = (resume and #resume.writes > 0) and 1 or 0, resumes = list,
  logseq = 0, bytes = 0, over = 0, leaves = run.leaves, webhook = run.webhook }
put_run(w)
redis.call('HSET', RUNS, 'd' .. w.id, run.doc)
redis.call('ZADD', ORDER, int(w.number), w.id)
do
  local turn
  if resume then -- input that waits would drop what was asked, and the answer with it
    turn = 1
    for i, p in ipairs(waiting(h)) do
      if #run_of(id_of(p.run)).resumes == 0 then break end
      turn = i + 1
    end
  end
  enqueue(h, w.number, math.max(at, w.notbefore), turn)
end
if key ~= '' then
  forget_keys(at)
  redis.call('HSET', IDEMPOTENT, key, w.id .. ' ' .. int(at + life))
end
h.updated = at
done(h, op, (not exists or #cancelled > 0) and { exists and '0' or '1', cancelled, told } or nil)
settle(h)
local admitted = told_run(w)
local held = {}
if claim and not busy and waiting(h)[1].at <= at then
  begin(h, w, claim, at)
  h.claimop = op
  held = told_lease(h)
end
changed(h, at)
save(h)
return { 'OK', admitted, row(h), exists and '0' or '1', held, cancelled, told }
