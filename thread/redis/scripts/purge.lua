-- Removes items whose life is over.
-- KEYS: items of a shard.
-- Result: {1 if there may be more}.
--!use items
return { purge(now()) and 1 or 0 }
