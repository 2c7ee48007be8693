--!use reviews
-- Questions (interrupts). Each has a status of its own field, so that finding out
-- what became of it is cheap; OPEN lists the pending ones by time.
local ASKED, ANSWERED, SUPERSEDED = 'p', 'a', 'x'

local function question_status(id) return redis.call('HGET', QUESTIONS, 's' .. id) end

local function question(id)
  local packed = redis.call('HGET', QUESTIONS, 'q' .. id)
  return packed and cmsgpack.unpack(packed)
end

local function answer_of(id)
  local packed = redis.call('HGET', QUESTIONS, 'a' .. id)
  return packed and cmsgpack.unpack(packed)
end

-- told_answer is an answer as it is told to the caller.
local function told_answer(id, a) return { id, a.value, a.by, int(a.at), a.run } end

local function open_questions()
  return redis.call('ZRANGE', OPEN, 0, -1)
end

local function close_question(h, id, status)
  redis.call('HSET', QUESTIONS, 's' .. id, status)
  redis.call('ZREM', OPEN, id)
  h.open = h.open - 1
  if status == SUPERSEDED and h.rv ~= 0 then reviews.supersede(h, id) end
end

-- decide stores the answer: the only one that a question ever gets.
local function decide(h, a, fingerprint)
  if question_status(a.id) == ASKED then
    close_question(h, a.id, ANSWERED)
  else -- a question that a copied thread shows: it has no row
    redis.call('HSET', QUESTIONS, 's' .. a.id, ANSWERED)
  end
  redis.call('HSET', QUESTIONS, 'a' .. a.id,
    cmsgpack.pack({ value = a.value, by = a.by, at = a.at, run = a.run, fingerprint = fingerprint }))
end

-- nested tells whether namespace ns lies below the namespace over.
local function nested(ns, over)
  if over == '' then return ns ~= '' end
  return string.sub(ns, 1, #over + 1) == over .. '|'
end

-- supersede closes the questions that a new checkpoint replaces: those of other
-- checkpoints of its namespace, and those of graphs nested in them.
local function supersede(h, ns, checkpoint)
  if h.open == 0 then return end
  for i, id in ipairs(open_questions()) do
    local q = question(id)
    if q.ns == ns and q.checkpoint ~= checkpoint or nested(q.ns, ns) then
      close_question(h, id, SUPERSEDED)
    end
  end
end

-- ask stores the questions of a task record; run is the number of the run that
-- asks, 0 for an edit. The generation grows once for each run that asks (decisions 8).
local function ask(h, task, run_id, run, at)
  for i, asked in ipairs(task.questions) do
    local status = question_status(asked.id)
    if status == ANSWERED then
      -- it stays so
    elseif task.done then
      if status == ASKED then close_question(h, asked.id, SUPERSEDED) end
    else
      if h.asked ~= run or run == 0 and h.open == 0 then
        h.gen = h.gen + 1
        h.asked = run
      end
      local created = at
      if status then created = question(asked.id).created end
      if status ~= ASKED then
        h.open = h.open + 1
        redis.call('ZADD', OPEN, int(created), asked.id)
      end
      local q = { ns = task.ns, checkpoint = task.checkpoint, task = task.id, run = run_id, gen = h.gen, created = created }
      redis.call('HSET', QUESTIONS, 's' .. asked.id, ASKED, 'v' .. asked.id, asked.doc, 'q' .. asked.id, cmsgpack.pack(q))
      reviews.request(h, asked.id, q)
    end
  end
end

-- misfit is the generation that questions get which a run asks (0 for an edit), if the
-- drafts were made for another, or for another version of a review; nil if all fit. closing are
-- the checkpoints that are stored before.
local function misfit(h, tasks, run, closing)
  local gen = h.gen
  if h.asked ~= run then
    gen = gen + 1
  elseif run == 0 then
    local left = h.open
    for i, id in ipairs(h.open > 0 and #closing > 0 and open_questions() or {}) do
      local q = question(id)
      for j, cp in ipairs(closing) do
        if q.ns == cp.ns and q.checkpoint ~= cp.id or nested(q.ns, cp.ns) then
          left = left - 1
          break
        end
      end
    end
    if left == 0 then gen = gen + 1 end
  end
  for i, t in ipairs(tasks) do
    for j, asked in ipairs(t.done and {} or t.questions) do
      if question_status(asked.id) ~= ANSWERED then
        local d, r = reviews.drafts[asked.id], reviews.of(h, asked.id)
        if r and not d or d and (d.gen ~= gen or d.version ~= (r and r.version or 0)) then return gen end
      end
    end
  end
end

-- retire_chain starts the retention of the earlier runs of an execution, which lie
-- behind one another, but for runs that were dropped before they began.
local function retire_chain(before, execution, at)
  for run = before, 1, -1 do
    local id = id_of(run)
    local w = id and run_of(id)
    if w and w.execution == execution then
      if w.over == 0 and not redis.call('ZSCORE', RETIRED, id) then redis.call('ZADD', RETIRED, int(at), id) end
    elseif w and w.started ~= 0 then
      return
    end
  end
end

-- drop_suspended starts the retention of a suspended execution that nobody will go on with.
local function drop_suspended(h, at)
  if h.suspended == 0 then return end
  local id = id_of(h.suspended)
  if id then retire_chain(h.suspended, run_of(id).execution, at) end
  h.suspended = 0
end

-- drop_pending supersedes all open questions: new input discards the pending superstep.
local function drop_pending(h, at)
  for i, id in ipairs(open_questions()) do close_question(h, id, SUPERSEDED) end
  if h.rest == INTERRUPTED then h.rest = IDLE end
  drop_suspended(h, at)
end
