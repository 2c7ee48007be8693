--!use undone
--!use lease
-- Commits of a leased run.
local function take_commit()
  local c = { op = text(), token = number(), run = text(), id = text() }
  take_channel()
  take_actor()
  who.cause = 'run'
  c.checkpoints, c.tasks, c.steps = take_checkpoints(), take_tasks(), {}
  for i = 1, number() do c.steps[i] = { origin = text(), member = text(), doc = text() } end
  c.batch = take_batch()
  return c
end

-- repeats tells whether a commit was stored before the newest or is the newest: ids end in a counter.
local function repeats(c, newest)
  local id = c.id
  if newest == '' or id == '' then return false end
  if newest == id then return true end
  local a, m = string.match(newest, '^(.-)(%d+)$')
  local b, n = string.match(id, '^(.-)(%d+)$')
  return a ~= nil and a == b and tonumber(n) <= tonumber(m)
end

-- ended_with tells whether the run ended with this commit, or a later one.
local function ended_with(h, c)
  local w = h and run_of(c.run)
  return w and w.status > RUNNING and repeats(c, w.commit)
end

-- orphan tells of a root checkpoint that grew from one that the server lacks; nil for none.
local function orphan(list)
  local mine = {}
  for i, cp in ipairs(list) do
    if cp.ns == '' then
      if cp.parent ~= '' and not mine[cp.parent] and not seq_of('', cp.parent) then
        return 'checkpoint ' .. cp.parent .. ', from which ' .. cp.id .. ' grew, is lost'
      end
      mine[cp.id] = true
    end
  end
end

-- impossible is why a commit can't be stored; nil if it can. A batch that follows on the log shows
-- that the server has all that the owner stored before; a commit without one has to stand on its own.
local function impossible(h, c)
  local why = refused(h, c.checkpoints, true)
  if why then return why end
  if not c.batch then return orphan(c.checkpoints) end
  c.place = fits(h, c.batch)
  if c.place == 'torn' then return 'what came before log position ' .. int(c.batch.first) .. ' is lost' end
  if c.place == 'other' then return 'log position ' .. int(c.batch.first) .. ' is taken' end
end

local function store_commit(h, c, at)
  for i, cp in ipairs(c.checkpoints) do put_checkpoint(h, cp, at) end
  for i, t in ipairs(c.tasks) do
    keep_task(h, t)
    put_task(t)
    ask(h, t, h.runid, h.running, at)
  end
  for i, s in ipairs(c.steps) do put_record(STEPS, s.origin, s.member, s.doc) end
  if c.place == 'new' then append(h, c.batch, h.running, h.runid) end
  h.commit = c.id
end
