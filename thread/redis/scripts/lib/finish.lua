--!use checkpoints
--!use told
--!use lease
-- stop clears what belongs to the running run.
local function stop(h)
  if h.cancel ~= '' then redis.call('HDEL', DETAILS, 'canceller') end
  h.running, h.runid, h.attempt, h.lost, h.released, h.cancel, h.worker, h.started = 0, '', 0, 0, 0, '', '', 0
  h.fbase, h.freserved, h.base, h.baserest, h.logfrom, h.cpfrom, h.due, h.runbytes = 0, 0, '', 0, 0, 0, 0, 0
end

local function take_finish()
  if not flag() then return nil end
  local f = { status = number(), suspended = number(), next = flag(), error = text(), at = number(), drop = flag() }
  if flag() then f.webhook = { id = text(), run = text(), url = text(), attempt = number(), due = number() } end
  return f
end

local function deliver(d)
  redis.call('HSETNX', OUTBOX, d.id, cmsgpack.pack({ run = d.run, url = d.url, attempt = d.attempt, due = d.due, error = '' }))
end

-- drop_execution supersedes the questions of a cancelled run's execution; those of others wait on (decisions 13).
local function drop_execution(h, w, at)
  if h.open == 0 then return end
  who.cause = 'cancel'
  local dropped = false
  for i, id in ipairs(open_questions()) do
    local run = question(id).run
    local asking = run_of(run)
    if run == w.id or asking and asking.execution == w.execution then
      close_question(h, id, SUPERSEDED)
      dropped = true
    end
  end
  if not dropped or h.open > 0 then return end
  if h.rest == INTERRUPTED then h.rest = IDLE end
  drop_suspended(h, at)
end

-- finish ends the running run: its row, the thread's status (spec/rest-api.md 3.1),
-- the outbox. It returns what the log got beside.
local function finish(h, f, commit)
  local w = run_of(h.runid)
  w.status, w.updated, w.ended, w.attempt, w.started, w.cancel = f.status, f.at, f.at, h.attempt, h.started, arms_call(h.cancel) and '' or h.cancel
  w.suspended, w.base, w.commit, w.logfrom, w.logto, w.cpfrom, w.cpto = f.suspended, h.base, commit, h.logfrom, h.pos, h.cpfrom, h.cps
  w.logseq, w.bytes = h.seq, h.runbytes
  put_run(w)
  if f.error ~= '' then redis.call('HSET', RUNS, 'e' .. w.id, f.error) end
  if f.suspended == 0 then -- a suspended execution keeps its log until a later run of it ends (decisions 12)
    redis.call('ZADD', RETIRED, int(f.at), w.id)
    retire_chain(w.number - 1, w.execution, f.at)
    h.suspended = 0
  else
    h.suspended = w.number
  end
  if f.status == CANCELLED then
    who.actor = canceller(h)
    drop_execution(h, w, f.at)
  end
  stop(h)
  local told = tell_owed(h, {})
  if f.status == CANCELLED then
    h.rest = IDLE
  elseif f.status ~= SUCCESS then
    h.rest = FAILED
  else
    h.rest = (f.next or f.suspended ~= 0) and INTERRUPTED or IDLE
  end
  if h.rest == FAILED and f.error ~= '' then
    redis.call('HSET', DETAILS, 'error', f.error)
  else
    redis.call('HDEL', DETAILS, 'error')
  end
  h.ended, h.updated = 1, f.at
  -- While others wait the thread is busy, unless a person has to see something.
  h.status = h.rest
  if h.rest == IDLE and h.queue ~= '' then h.status = BUSY end
  if f.webhook then deliver(f.webhook) end
  if f.drop then h.expires, h.ttl = f.at, 'delete' end
  announce_end(w.id)
  return told
end
