package redis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScriptsHaveOnlyWhatTheyNeed: what only an unused function uses goes with it.
func TestScriptsHaveOnlyWhatTheyNeed(t *testing.T) {
	t.Parallel()
	chunks, err := chunksOf(`local x = 1
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
`)
	require.NoError(t, err)
	require.Equal(t, `local x = 1
local function used(n) return n + x end

local function deep()
  local function inner() end
  return used(1)
end
return deep()
`, prune(chunks))
	require.NotContains(t, scripts()["append"].source, "local function told_run")
	require.Contains(t, scripts()["admit"].source, "local function told_run")
}

// TestScriptWhoseFunctionSeemsEndless: what stands behind it would go with it.
func TestScriptWhoseFunctionSeemsEndless(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"local function f() return 1 end -- one\nreturn f()\n", "local function f() return 1 end -- one\nlocal function g()\nend\nreturn f()\n"} {
		_, err := chunksOf(source)
		require.ErrorContains(t, err, "function f has no end")
	}
}
