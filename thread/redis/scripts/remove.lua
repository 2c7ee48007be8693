-- Deletes a run.
-- KEYS: all of the thread.
-- ARGV: op, channel, origin, control, run id, name of the record of command writes,
--   floating batches: the end of a running run, the beginning and end of a pending one.
-- Result: {'OK', row, told, '1' if the log begins with a snapshot} or {'GONE'} without such a run.
--!use remove
--!use clock
local op = text()
take_channel()
local id, null_task, ended, unbegun = text(), text(), take_floating(), take_floating()
local h = load(ALL)
if h and h.op == op then return { 'OK', row(h), result_of(h)[1] or {}, '1' } end
local w = h and run_of(id)
if not w then return { 'GONE' } end
local at, told, ended_one = now(), {}, false
present(h, w)
if w.status == RUNNING then -- its worker finds itself fenced
  local batch = land(h, ended)
  told = { id, batch.data }
  for i, v in ipairs(undo(h, w, batch, null_task, at)) do told[#told + 1] = v end
elseif w.status == PENDING then
  unqueue(h, w.number)
  remove_run(h, w, null_task)
  leave(h, w, at)
  dropped(h, told, id, unbegun)
else -- answers that an ended run brought stay accepted
  local head = h.head
  ended_one = true
  drop_log(h, w)
  forget_checkpoints(h, w.cpfrom, w.cpto)
  if h.head ~= head and h.open == 0 then h.rest = IDLE end
  drop_run(w)
end
h.updated = at
done(h, op, #told > 0 and { told } or nil)
settle(h)
changed(h, at)
save(h)
return { 'OK', row(h), told, ended_one and redis.call('HEXISTS', DETAILS, 'snapshot') == 1 and '1' or '0' }
