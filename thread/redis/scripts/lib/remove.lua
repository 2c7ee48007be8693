--!use finish
-- drop_log removes the log of a run, which lies in one piece.
local function drop_log(h, w)
  if w.logfrom ~= 0 and w.logto >= w.logfrom then cut(h, w.logfrom, w.logto) end
end

-- reopen takes back the answers of a resume that is undone, with its command's writes.
local function reopen(h, w)
  for i, id in ipairs(w.resumes) do
    local a = question_status(id) == ANSWERED and answer_of(id)
    if a and a.run == w.id then
      local q = question(id)
      redis.call('HDEL', QUESTIONS, 'a' .. id)
      if h.rv ~= 0 then reviews.reopen(h, id) end
      if q then
        redis.call('HSET', QUESTIONS, 's' .. id, ASKED)
        redis.call('ZADD', OPEN, int(q.created), id)
        h.open = h.open + 1
      else -- it had no row before
        redis.call('HDEL', QUESTIONS, 's' .. id)
      end
    end
  end
end

-- remove_run removes the row of a run that isn't inflight, its log and its
-- checkpoints; the answers it brought wait for another run to bring them.
-- w is as present made it; null_task names the record of a command's writes.
local function remove_run(h, w, null_task)
  drop_log(h, w)
  forget_checkpoints(h, w.cpfrom, w.cpto)
  reopen(h, w)
  if w.writes ~= 0 then drop_record(TASKS, w.base, null_task) end
  drop_run(w)
end

-- undo removes the running run and puts the thread where it was before; numbers
-- that it used are never given again. last, if any, stays of its log: that it ended.
local function undo(h, w, last, null_task, at)
  local base, rest = h.base, h.baserest
  next_token(h, at)
  stop(h)
  remove_run(h, w, null_task)
  if last then append(h, last, 0, w.id) end
  leave(h, w, at)
  local told = tell_owed(h, {})
  if base ~= h.head and base ~= '' and seq_of('', base) then h.head = base end
  h.rest = rest
  if h.open > 0 then h.rest = INTERRUPTED end
  h.updated = at
  settle(h)
  announce_end(w.id)
  return told
end

-- mark_cancel marks the running run, or a call of it; the stronger action stays.
local function mark_cancel(h, action)
  if h.cancel == 'rollback' or h.cancel == action then return end
  if arms_call(action) then
    if h.cancel == '' or arms_call(h.cancel) then h.cancel = action end
    return
  end
  h.cancel = action
  redis.call('HSET', DETAILS, 'canceller', who.actor)
end

-- cancel_pending ends a pending run, or removes it (rollback), and tells of it.
-- It returns the row as it is told to the caller.
local function cancel_pending(h, told, w, action, at, floating, null_task)
  unqueue(h, w.number)
  h.updated, who.cause = at, action == 'rollback' and 'rollback' or 'cancel'
  if h.rest == FAILED then h.rest = IDLE end -- a cancel leaves no error behind
  w.status, w.cancel, w.ended, w.updated = CANCELLED, action, at, at
  local seen = told_run(w)
  if action == 'rollback' then
    remove_run(h, w, null_task)
  else
    put_run(w)
    redis.call('ZADD', RETIRED, int(at), w.id)
    drop_execution(h, w, at)
  end
  leave(h, w, at)
  if w.webhook ~= '' and action ~= 'rollback' then -- of a run that is removed there is nothing to say
    deliver({ id = w.id, run = w.id, url = w.webhook, attempt = 0, due = at })
  end
  dropped(h, told, w.id, floating)
  return seen
end
