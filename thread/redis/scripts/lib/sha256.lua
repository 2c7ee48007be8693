-- SHA-256 of short texts, in lower-case hex: Redis has only SHA-1. A block of 64
-- bytes takes some 50 µs, so what is long is hashed by who calls the script. It is
-- made when it is first used: most calls of a script don't.
local function sha256(first)
  local K
  local function block(state, text, at)
    local band, bxor, bnot, ror, rshift, tobit = bit.band, bit.bxor, bit.bnot, bit.ror, bit.rshift, bit.tobit
    local w = {}
    for i = 1, 16 do
      local a, b, c, d = string.byte(text, at + 4 * i - 4, at + 4 * i - 1)
      w[i] = tobit(a * 16777216 + b * 65536 + c * 256 + d)
    end
    for i = 17, 64 do
      local x, y = w[i - 15], w[i - 2]
      w[i] = tobit(w[i - 16] + bxor(ror(x, 7), ror(x, 18), rshift(x, 3)) + w[i - 7] + bxor(ror(y, 17), ror(y, 19), rshift(y, 10)))
    end
    local a, b, c, d, e, f, g, h = unpack(state)
    for i = 1, 64 do
      local one = h + bxor(ror(e, 6), ror(e, 11), ror(e, 25)) + bxor(band(e, f), band(bnot(e), g)) + K[i] + w[i]
      local two = bxor(ror(a, 2), ror(a, 13), ror(a, 22)) + bxor(band(a, b), band(a, c), band(b, c))
      a, b, c, d, e, f, g, h = tobit(one + two), a, b, c, tobit(d + one), e, f, g
    end
    local add = { a, b, c, d, e, f, g, h }
    for i = 1, 8 do state[i] = tobit(state[i] + add[i]) end
  end
  -- roots are the first 32 bits of the fraction of the first n primes' roots.
  local function roots(n, power)
    local list, candidate = {}, 1
    while #list < n do
      candidate = candidate + 1
      local prime = true
      for d = 2, math.floor(math.sqrt(candidate)) do
        if candidate % d == 0 then prime = false end
      end
      if prime then
        local root = candidate ^ power
        list[#list + 1] = bit.tobit(math.floor((root - math.floor(root)) * 4294967296))
      end
    end
    return list
  end
  sha256 = function(text)
    local state, bits = roots(8, 1 / 2), #text * 8
    text = text .. '\128' .. string.rep('\0', (55 - #text) % 64) ..
      string.char(0, 0, 0, math.floor(bits / 4294967296), math.floor(bits / 16777216) % 256, math.floor(bits / 65536) % 256, math.floor(bits / 256) % 256, bits % 256)
    for at = 1, #text, 64 do block(state, text, at) end
    for i = 1, 8 do state[i] = bit.tohex(state[i]) end
    return table.concat(state)
  end
  K = roots(64, 1 / 3)
  return sha256(first)
end
