package redis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScriptsHaveOnlyWhatTheyNeed: what only an unused function uses goes with it.
func TestScriptsHaveOnlyWhatTheyNeed(t *testing.T) {
	t.Parallel()
	require.Equal(t, `local x = 1
local function used(n) return n + x end

local function deep()
  local function inner() end
  return used(1)
end
return deep()
`, prune(`local x = 1
local function used(n) return n + x end

local function never(n)
  if n then
    return only_by_never()
  end
end
local function only_by_never() return 1 end
local function deep()
  local function inner() end
  return used(1)
end
return deep()
`))
	require.NotContains(t, scripts["append"].source, "local function told_run")
	require.Contains(t, scripts["admit"].source, "local function told_run")
}
