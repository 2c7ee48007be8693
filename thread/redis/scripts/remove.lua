-- Deletes a run.
-- KEYS: all of the thread.
-- ARGV: op, channel, origin, control, actor, run id, name of the record of command writes,
--   floating batches: the end of a running run, the beginning and end of a pending one.
-- Result: {'OK', row, told} or {'GONE'} without such a run.
--!use undone
--!use remove
--!use clock
local op = text()
take_channel()
take_actor()
who.cause = 'delete'
local id, null_task, ended, unbegun = text(), text(), take_floating(), take_floating()
local h = load(ALL)
local again = h and removed_by(h, op)
if again then return { 'OK', row(h), again.result[1] } end -- the reply was lost
local w = h and run_of(id)
if not w then return { 'GONE' } end
local at, told = now(), {}
present(h, w)
if w.status == RUNNING then -- its worker finds itself fenced
  local batch = land(h, ended)
  told = { id, batch.data }
  undo_tasks(h, w)
  for i, v in ipairs(undo(h, w, batch, null_task, at)) do told[#told + 1] = v end
elseif w.status == PENDING then
  unqueue(h, w.number)
  remove_run(h, w, null_task)
  leave(h, w, at)
  dropped(h, told, id, unbegun)
else -- answers that an ended run brought stay accepted
  local head = h.head
  if redis.call('HEXISTS', DETAILS, 'snapshot') == 1 then h.stale = 1 end
  drop_log(h, w)
  forget_checkpoints(h, w.cpfrom, w.cpto)
  if h.head ~= head and h.open == 0 then h.rest = IDLE end
  drop_run(w)
end
h.updated = at
remember_removed(h, w, op, at, { told })
done(h, op)
settle(h)
changed(h, at)
save(h)
return { 'OK', row(h), told }
