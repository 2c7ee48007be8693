-- Cancels a run: a pending one ends or is removed (rollback) at once, a running one is marked. An action that arms a
-- call is noted of either.
-- KEYS: all of the thread.
-- ARGV: op, channel, origin, control, actor, run id, action, at (0: now), name of the record of command writes,
--   floating batch that tells of a run that never begins.
-- Result: {'OK', run, row, told}, {'GONE'} without such a run.
--!use remove
--!use clock
local op = text()
take_channel()
take_actor()
local id, action, given, null_task, floating = text(), text(), number(), text(), take_floating()
local h = load(ALL)
local again = h and removed_by(h, op)
if again then return { 'OK', again.result[1], row(h), again.result[2] } end -- the reply was lost
if h and h.op == op and h.kept ~= 0 then
  local kept = result_of(h)
  return { 'OK', kept[1], row(h), kept[2] }
end
local w = h and run_of(id)
if not w then return { 'GONE' } end
local present_at = now()
local at = given > 0 and given or present_at
present(h, w)
if w.status > RUNNING then return { 'OK', told_run(w), row(h), {} } end
local told, seen = {}, nil
if w.status == RUNNING then
  mark_cancel(h, action)
  seen = told_run(present(h, run_of(id)))
  if control ~= '' then redis.call('PUBLISH', control, table.concat({ 'C', origin, h.cancel, id }, '\n')) end
elseif arms_call(action) then
  w.cancel = action
  put_run(w)
  seen = told_run(w)
else
  seen = cancel_pending(h, told, w, action, at, floating, null_task)
end
settle(h)
if w.status ~= RUNNING and action == 'rollback' then remember_removed(h, w, op, present_at, { seen, told }) end
done(h, op, w.status ~= RUNNING and { seen, told } or nil)
changed(h, present_at)
save(h)
return { 'OK', seen, row(h), told }
