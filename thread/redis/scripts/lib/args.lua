-- Arguments are taken one after the other.
local taken = 0
local function text()
  taken = taken + 1
  return ARGV[taken]
end
local function number() return tonumber(text()) end
local function flag() return text() == '1' end

-- Numbers go up to 2^53: Lua's own conversion would write them as 1e+15.
local function int(n) return string.format('%d', n) end
