--!use finish
-- Cuts of the log.

-- gone tells of a run whether its events may go: mode is 'over' (its execution has
-- ended), 'old' (before a time) or 'none'.
local function gone(mode, before, w)
  if mode == 'none' then return false end
  if not w then return true end
  if w.over ~= 0 then return true end
  local at = redis.call('ZSCORE', RETIRED, w.id)
  return at and (mode == 'over' or tonumber(at) < before)
end

-- kept are the checkpoints that a trim leaves, by sequence: the newest of each namespace.
local function kept_by_trim()
  local keep = {}
  for i, ns in ipairs(redis.call('ZRANGE', NAMESPACES, 0, -1)) do keep[newest(ns)] = true end
  return keep
end

-- first_checkpoint is the sequence of the first checkpoint that a run still has, or
-- will have when only those in keep are left; nil for none.
local function first_checkpoint(w, keep)
  if w.cpfrom == 0 then return nil end
  for seq = w.cpfrom, w.cpto do
    if keep and keep[seq] or not keep and redis.call('HEXISTS', CHECKPOINTS, int(seq)) == 1 then return seq end
  end
end

-- find_cut looks how far the log may be cut: runs one behind the other, and edits
-- in between, which may go if they are older than the time (in microseconds).
local function find_cut(h, mode, before, keep)
  local cut = { events = 0, last = 0, seq = 0, runs = {}, owns = {} }
  for i, b in ipairs(snapshot()) do cut.last, cut.seq = b.last, math.max(cut.seq, b.seq) end
  local from, behind = '-', false
  while true do
    local raw = redis.call('XRANGE', LOG, from, '+', 'COUNT', 1)[1]
    if not raw then return cut end
    local e = entry(raw)
    local w = e.owner > 0 and run_of(e.run) or nil
    if w then present(h, w) end
    if not behind then
      behind = e.owner > 0 and not gone(mode, before, w) or e.owner == 0 and (mode == 'none' or mode == 'old' and e.millis * 1000 >= before)
    end
    local last, seq = e.last, e.seq
    if w then last, seq = w.logto, w.logseq end
    if behind then
      cut.bound = w and first_checkpoint(w, keep) or e.owner == 0 and e.checkpoint > 0 and e.checkpoint or nil
      if cut.bound then return cut end
    else
      cut.last, cut.seq, cut.events = last, math.max(cut.seq, seq), cut.events + 1
      if w and not cut.owns[w.id] then
        cut.owns[w.id] = true
        cut.runs[#cut.runs + 1] = w.id
      end
    end
    from = '(' .. int(last) .. '-0'
    if last == e.last then from = '(' .. e.id end
  end
end

-- heads_at are the newest checkpoints of the namespaces at a cut, the root's first.
local function heads_at(cut, limit, keep)
  local list = {}
  for i, ns in ipairs(redis.call('ZRANGE', NAMESPACES, 0, -1)) do
    local seq = newest(ns)
    if cut.bound and seq >= cut.bound then
      local found = not keep and redis.call('ZREVRANGEBYLEX', INDEX, '(' .. place(ns, cut.bound), '[' .. within(ns), 'LIMIT', 0, 1)[1]
      seq = found and tonumber(string.sub(found, -12)) or nil
    end
    if seq then list[#list + 1] = { root = ns == '', seq = seq } end
  end
  table.sort(list, function(a, b)
    if a.root ~= b.root then return a.root end
    return a.seq > b.seq
  end)
  local docs = {}
  for i = 1, math.min(limit, #list) do docs[i] = checkpoint_at(list[i].seq) end
  return docs
end

-- last_ended is the newest run that has ended and that the log has nothing of behind the cut, nor will have.
local function last_ended(h, cut)
  local owed = {}
  if h.owed > 0 then
    for i, o in ipairs(cmsgpack.unpack(redis.call('HGET', DETAILS, 'owed'))) do owed[o[1]] = true end
  end
  for i, id in ipairs(redis.call('ZREVRANGE', ORDER, 0, -1)) do
    local w = run_of(id)
    if w.status > RUNNING and not owed[id] and (w.logfrom == 0 or cut.owns[id]) then return w end
  end
end

-- told_cut is a cut as it is told to the caller, who makes the snapshot; {} when there is nothing to be cut.
local function told_cut(h, mode, before, again, limit, keep)
  local cut = find_cut(h, mode, before, keep)
  if cut.last == 0 or cut.events == 0 and not again then return {} end
  local w = last_ended(h, cut)
  return { int(cut.last), int(cut.seq), heads_at(cut, limit, keep), w and told_run(w) or {}, cut.runs }
end
