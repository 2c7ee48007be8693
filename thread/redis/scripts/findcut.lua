-- Looks how far the log of a thread may be cut.
-- KEYS: all of the thread.
-- ARGV: mode ('over': behind executions that have ended; 'old': before the time; 'none': a snapshot alone), before,
--   whether a snapshot alone is made anew, at most how many namespaces.
-- Result: {'OK', {version, last position and seq to be cut, documents of the newest checkpoints there, newest run or {},
--   runs whose log goes}}, the inner list empty when there is nothing to be cut; or {'GONE'}.
--!use cut
local mode, before, again, limit = text(), number(), flag(), number()
local h = load(ALL)
if not h then return { 'GONE' } end
return { 'OK', told_cut(h, mode, before, again, limit) }
