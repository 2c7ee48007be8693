-- Changes the terms of an open review.
-- KEYS: all of the thread.
-- ARGV: op, channel, origin, control, interrupt id, version, assignee, claimed until, expires, warn, role, escalations,
--   n pieces of the comments, between which the store's time belongs, claim for, extend by, warn before that,
--   whether a deadline that has come refuses it; action, body and sum of the audit entry.
-- Result: {'OK', row, the store's time, review}, {'CONFLICT', why}, {'EXPIRED', interrupt, when}, {'NONE'} without such a review, or {'GONE'}.
--!use questions
local op = text()
take_channel()
local id, version = text(), number()
local terms = { assignee = text(), claimed = number(), expires = number(), warn = number(), role = text(), escalations = number() }
local comments = {}
for i = 1, number() do comments[i] = text() end
local claim, extend, warn, refuses = number(), number(), number(), flag()
local action, body, sum = text(), text(), text()
local h = load(ALL)
if not h then return { 'GONE' } end
local r = reviews.of(h, id)
if h.op == op then return { 'OK', row(h), int(now()), reviews.told(id, r) } end
if not r then return { 'NONE' } end
if r.status ~= reviews.OPEN or r.version ~= version then
  return { 'CONFLICT', 'the review of interrupt ' .. id .. ' is of version ' .. int(r.version) .. ', status ' .. r.status }
end
local at = chain.moment()
if refuses and r.expires ~= 0 and r.expires <= at then return { 'EXPIRED', id, int(r.expires) } end
for name, v in pairs(terms) do r[name] = v end
r.comments = table.concat(comments, int(at))
if claim > 0 then r.claimed = at + claim end
if extend > 0 then r.expires, r.warn = at + extend, at + extend - warn end
reviews.change(h, id, r, reviews.OPEN)
reviews.enter(h, id, r, action, body, sum)
done(h, op)
changed(h, at)
save(h)
return { 'OK', row(h), int(at), reviews.told(id, r) }
