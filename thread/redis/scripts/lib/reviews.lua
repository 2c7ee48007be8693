--!use chain
--!use runs
--!use log
-- Reviews of questions (thread.Review). REVIEWS holds of each what changes as 'r' and
-- the interrupt's id, and its draft as 'd' and the id. Their rules are those of
-- thread/reviewrules.go.
-- Who does what this transition does, as the body of an entry has it, and why reviews end;
-- silent when nothing of that is announced.
local who = { actor = '{}', cause = '', silent = false }

local function take_actor() who.actor = text() end

-- canceller is the actor who marked the running run, if it was.
local function canceller(h)
  return h.cancel ~= '' and redis.call('HGET', DETAILS, 'canceller') or who.actor
end

local function make_reviews(reviews)
reviews.OPEN, reviews.DECIDED, reviews.EXPIRED, reviews.SUPERSEDED = 'p', 'd', 'e', 'x'

-- What a review holds, in the order in which it is packed. ids are all under which it is
-- found, the present one last. pieces are parts of the canonical body of an audit entry: agent, what
-- identifies it, the run that asked, the tool.
local REVIEW = { 'status', 'version', 'pv', 'created', 'updated', 'gen', 'ids', 'run', 'ns', 'checkpoint', 'project', 'digest', 'notify',
  'pieces', 'assignee', 'claimed', 'expires', 'warn', 'role', 'escalations', 'comments', 'by', 'at', 'decision', 'notes', 'decider', 'decidedby' }

local known, touched = {}, {}

-- of reads the review of a question; nil for none.
function reviews.of(h, id)
  local r = known[id]
  if r == nil then
    local packed = h.rv ~= 0 and redis.call('HGET', REVIEWS, 'r' .. id)
    r = false
    if packed then
      r = {}
      for i, v in ipairs(cmsgpack.unpack(packed)) do r[REVIEW[i]] = v end
    end
    known[id] = r
  end
  return r or nil
end

local function touch(h, id, r)
  parts_change(h, chain.moment())
  if not r.touched then
    r.touched = true
    touched[#touched + 1] = id
  end
  known[id] = r
end

-- due_of is when a warning or the deadline is due; 0 for never.
local function due_of(r)
  if r.status ~= reviews.OPEN then return 0 end
  if r.warn == 0 or r.expires ~= 0 and r.expires < r.warn then return r.expires end
  return r.warn
end

-- part is what is derived from a review.
function reviews.part(id, r)
  local out = { 'r' .. id, int(r.pv), r.status, int(r.created), int(due_of(r)), r.project }
  for i, rid in ipairs(r.ids) do out[#out + 1] = rid end
  return out
end

function reviews.put(id, r)
  local values = {}
  for i, name in ipairs(REVIEW) do values[i] = r[name] end
  redis.call('HSET', REVIEWS, 'r' .. id, cmsgpack.pack(values))
end

-- The reviews that were touched are stored with the head; who lists reviews is told.
before_save = function(h)
  local projects = {}
  for i, id in ipairs(touched) do
    local r = known[id]
    r.pv, r.touched = h.rv, nil
    reviews.put(id, r)
    parts[#parts + 1] = reviews.part(id, r)
    if not projects[r.project] then
      projects[r.project] = true
      if control and control ~= '' then redis.call('PUBLISH', control, table.concat({ 'V', origin, r.project }, '\n')) end
    end
  end
  touched = {}
end

-- enter writes the audit entry of a review, and announces it.
function reviews.enter(h, id, r, action, body, sum)
  local hash = chain.note(h, r.project, body, sum)
  if who.silent or action == 'review.commented' or action == 'review.refused' then return end
  for i, url in ipairs(r.notify) do
    redis.call('HSETNX', OUTBOX, string.sub(hash, 1, 32) .. '-' .. int(i - 1),
      cmsgpack.pack({ run = r.run, url = url, attempt = 0, due = chain.moment(), error = '', event = action, interrupt = id }))
  end
end

-- enter_made writes an entry whose body is made here, as thread.AuditBody.Canonical would.
local function enter_made(h, id, r, action, run)
  local because = who.cause ~= '' and ',"cause":"' .. who.cause .. '"' or ''
  local body = '{"action":"' .. action .. '","actor":' .. who.actor .. r.pieces[1] .. because .. r.pieces[2] .. run .. r.pieces[4] .. '}'
  reviews.enter(h, id, r, action, body, sha256(body))
end

function reviews.change(h, id, r, status)
  r.status, r.updated, r.version = status, chain.moment(), r.version + 1
  touch(h, id, r)
end

function reviews.supersede(h, id)
  local r = reviews.of(h, id)
  if not r or r.status ~= reviews.OPEN then return end
  reviews.change(h, id, r, reviews.SUPERSEDED)
  enter_made(h, id, r, 'review.superseded', r.pieces[3])
end

function reviews.reopen(h, id)
  local r = reviews.of(h, id)
  if not r or r.status ~= reviews.DECIDED and r.status ~= reviews.EXPIRED then return end
  local run = r.decidedby
  r.by, r.at, r.decision, r.notes, r.decider, r.decidedby = '', 0, '', '', '', ''
  reviews.change(h, id, r, reviews.OPEN)
  enter_made(h, id, r, 'review.reopened', run)
end

-- decide ends a review with an outcome, whose entry the caller has made.
function reviews.decide(h, id, o)
  local r = o and reviews.of(h, id)
  if not r then return end
  r.by, r.at, r.decision, r.notes, r.decider, r.decidedby = o.by, chain.moment(), o.decision, o.notes, o.run, o.runpart
  reviews.change(h, id, r, o.status)
  reviews.enter(h, id, r, o.action, o.body, o.sum)
end

-- Drafts of the questions that a transition asks, with their audit entries, as made for
-- the generation and the version of the review that are expected.
reviews.drafts = {}

function reviews.take_drafts()
  for i = 1, number() do
    local id = text()
    local d = { gen = number(), version = number(), id = text(), doc = text(), project = text(), digest = text(), after = number(), warn = number(),
      notify = {}, pieces = {} }
    for j = 1, number() do d.notify[j] = text() end
    for j = 1, 4 do d.pieces[j] = text() end
    d.body, d.sum = text(), text()
    reviews.drafts[id] = d
  end
end

-- request makes the review of a question that is asked, or asked again.
function reviews.request(h, id, q)
  local d = reviews.drafts[id]
  if not d then return end
  local r = reviews.of(h, id)
  local open = r and r.status == reviews.OPEN
  if open and r.gen == q.gen and r.digest == d.digest then return end
  local at = chain.moment()
  local n = { version = 1, created = at, ids = {}, assignee = '', claimed = 0, expires = 0, warn = 0, role = '', escalations = 0, comments = '' }
  if d.after > 0 then n.expires, n.warn = at + d.after, at + d.after - d.warn end
  if r then
    n.version = r.version + 1
    for i, rid in ipairs(r.ids) do
      if rid ~= d.id then n.ids[#n.ids + 1] = rid end
    end
  end
  n.ids[#n.ids + 1] = d.id
  if open then
    for i, name in ipairs({ 'created', 'assignee', 'claimed', 'expires', 'warn', 'role', 'escalations', 'comments' }) do n[name] = r[name] end
  end
  n.status, n.updated, n.gen, n.run, n.ns, n.checkpoint = reviews.OPEN, at, q.gen, q.run, q.ns, q.checkpoint
  n.project, n.digest, n.notify, n.pieces = d.project, d.digest, d.notify, d.pieces
  n.by, n.at, n.decision, n.notes, n.decider, n.decidedby, n.pv = '', 0, '', '', '', '', 0
  n.touched = r and r.touched
  redis.call('HSET', REVIEWS, 'd' .. id, d.doc)
  touch(h, id, n)
  reviews.enter(h, id, n, 'review.requested', d.body, d.sum)
end

-- told is a review as it is told to the caller: its columns, draft and question, and, decided, its answer.
function reviews.told(id, r)
  local out = { id, r.ids, r.status, int(r.version), int(r.created), int(r.updated), int(r.gen), r.run, r.ns, r.checkpoint,
    r.assignee, int(r.claimed), int(r.expires), int(r.warn), r.role, int(r.escalations), r.comments,
    r.by, int(r.at), r.decision, r.notes, r.decider,
    redis.call('HGET', REVIEWS, 'd' .. id) or '', redis.call('HGET', QUESTIONS, 'v' .. id) or '', '' }
  if r.status == reviews.DECIDED or r.status == reviews.EXPIRED then
    local a = redis.call('HGET', QUESTIONS, 'a' .. id)
    out[#out] = a and cmsgpack.unpack(a).value or ''
  end
  return out
end
end

-- Most transitions touch no review: what that takes is made at its first use.
local reviews = setmetatable({}, { __index = function(t, name)
  setmetatable(t, nil)
  make_reviews(t)
  return t[name]
end })
