--!use checkpoints
-- What the running run has put in place of task records of checkpoints that were there before it: a
-- rollback puts those back. Else what the answers led to that it takes back would stay.
local UNDONE = 'undone'

-- keep_task keeps what the record of a task replaces; call it before that is stored.
local function keep_task(h, t)
  local seq = seq_of(t.ns, t.checkpoint)
  if not seq or seq >= h.cpfrom then return end -- it goes with the run
  if redis.call('HGET', DETAILS, record(UNDONE, '')) ~= h.runid then
    drop_records(DETAILS, UNDONE)
    put_record(DETAILS, UNDONE, '', h.runid)
  end
  local member = #t.checkpoint .. ':' .. t.checkpoint .. t.id
  if redis.call('HEXISTS', DETAILS, record(UNDONE, member)) == 0 then
    put_record(DETAILS, UNDONE, member, redis.call('HGET', TASKS, record(t.checkpoint, t.id)) or '')
  end
end

-- undo_tasks puts back what the running run has replaced, and closes the questions that it
-- was the first to ask there. w is as present made it.
local function undo_tasks(h, w)
  if redis.call('HGET', DETAILS, record(UNDONE, '')) ~= w.id then return end
  for i, member in ipairs(members(DETAILS, UNDONE)) do
    local n, rest = string.match(member, '^(%d+):(.*)$')
    if n then
      local checkpoint, task = string.sub(rest, 1, tonumber(n)), string.sub(rest, tonumber(n) + 1)
      local doc = redis.call('HGET', DETAILS, record(UNDONE, member))
      if doc == '' then
        drop_record(TASKS, checkpoint, task)
      elseif redis.call('HEXISTS', TASKS, record(checkpoint, task)) == 1 then
        put_record(TASKS, checkpoint, task, doc)
      end
    end
  end
  drop_records(DETAILS, UNDONE)
  for i, id in ipairs(open_questions()) do
    local q = question(id)
    if q.run == w.id and q.created >= w.started then close_question(h, id, SUPERSEDED) end
  end
end
