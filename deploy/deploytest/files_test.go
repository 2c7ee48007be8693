package deploytest

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// files are those that name variables, paths and ports of the program.
var files = []string{"Dockerfile", "docker-compose.yml", "deploy/kubernetes.yaml", "deploy/Caddyfile", "deploy/nginx.conf", "docs/operations.md"}

// TestFilesNameWhatTheProgramHas: each variable is one that some command reads, each
// probe's path is served without a key, and there is one port.
func TestFilesNameWhatTheProgramHas(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`PARLEY_[A-Z_]+`)
	known := map[string]bool{}
	for _, command := range [][]string{{"serve"}, {"health"}, {"migrate"}, {"backup"}, {"restore"}} {
		help, err := exec.CommandContext(t.Context(), program(t), append(command, "--help")...).CombinedOutput()
		require.NoError(t, err, "%s", help)
		for _, v := range variable.FindAllString(string(help), -1) {
			known[v] = true
		}
	}
	require.True(t, known["PARLEY_REDIS"])
	var api struct {
		Paths map[string]map[string]struct {
			Security []any `json:"security"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(file(t, "server/openapi.json")), &api))
	probe := regexp.MustCompile(`(?:health_uri |path: )(/[a-z]*z)\b`)
	port := regexp.MustCompile(`(?:parley-\d:|containerPort: |PARLEY_PORT=|EXPOSE |PARLEY_PORT, value: "|expose: \["|prometheus.io/port: ")(\d+)`)
	probes, ports := 0, 0
	for _, name := range files {
		text := file(t, name)
		for _, v := range variable.FindAllString(text, -1) {
			require.True(t, known[v], "%s: no command reads %s", name, v)
		}
		for _, m := range probe.FindAllStringSubmatch(text, -1) {
			probes++
			require.Contains(t, api.Paths, m[1], name)
			require.NotNil(t, api.Paths[m[1]]["get"].Security, "%s wants a key", m[1])
		}
		for _, m := range port.FindAllStringSubmatch(text, -1) {
			ports++
			require.Equal(t, "2024", m[1], "%s: %s", name, m[0])
		}
	}
	require.GreaterOrEqual(t, probes, 4)
	require.GreaterOrEqual(t, ports, 10)
}

// TestReplicasHaveTheTimeTheyNeed: what kills a replica that shuts down waits for its
// drain, its grace and the 5 s that nodes have to return.
func TestReplicasHaveTheTimeTheyNeed(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]string{
		"docker-compose.yml":     `stop_grace_period: (\d+s) # drain`,
		"deploy/kubernetes.yaml": `terminationGracePeriodSeconds: (\d+)\n`,
	} {
		text := file(t, name)
		find := func(pattern string) time.Duration {
			m := regexp.MustCompile(pattern).FindStringSubmatch(text)
			require.NotNil(t, m, "%s: %s", name, pattern)
			if n, err := strconv.Atoi(m[1]); err == nil {
				return time.Duration(n) * time.Second
			}
			d, err := time.ParseDuration(m[1])
			require.NoError(t, err)
			return d
		}
		drain, grace := find(`PARLEY_DRAIN(?:, value)?: (\d+s)`), find(`PARLEY_GRACE(?:, value)?: (\d+s)`)
		require.GreaterOrEqual(t, find(kill), drain+grace+5*time.Second, name)
	}
}

// TestImageIsBuiltWithTheGoOfTheModule: an older compiler would refuse it.
func TestImageIsBuiltWithTheGoOfTheModule(t *testing.T) {
	t.Parallel()
	module := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(file(t, "go.mod"))
	image := regexp.MustCompile(`FROM golang:(\d+\.\d+)`).FindStringSubmatch(file(t, "Dockerfile"))
	require.NotNil(t, module)
	require.NotNil(t, image)
	require.Equal(t, module[1], image[1])
}

// TestGuideNamesWhatThereIs: the operations guide's commands, flags and metrics exist,
// and its alerts are YAML that names only these metrics.
func TestGuideNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	guide := file(t, "docs/operations.md")
	for _, m := range regexp.MustCompile("(?m)(?:^    |`)parley ([a-z]+)([^`\n#]*)").FindAllStringSubmatch(guide, -1) {
		help, ok := parley(t, m[1], "--help")
		require.True(t, ok, "parley %s: %s", m[1], help)
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(m[2], -1) {
			require.Contains(t, help, flag, "parley %s", m[1])
		}
	}
	serve, _ := parley(t, "serve", "--help")
	for _, flag := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(guide, -1) {
		require.Contains(t, serve, flag[1])
	}

	_, c := serving(t, "PARLEY_EPHEMERAL=1")
	c.thread()
	page := c.text("/metrics")
	require.Contains(t, page, "parley_ready 1\n")
	var alerts struct {
		Groups []struct {
			Name  string
			Rules []struct{ Alert, Expr, For string }
		}
	}
	_, text, found := strings.Cut(guide, "```yaml\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "```")
	require.NoError(t, yaml.UnmarshalWithOptions([]byte(text), &alerts, yaml.Strict()))
	require.NotEmpty(t, alerts.Groups[0].Rules)
	metric := regexp.MustCompile(`\b(?:parley|go)_[a-z_]+`)
	for _, m := range metric.FindAllString(guide, -1) {
		require.Contains(t, page, "\n"+m, "/metrics has no %s", m)
	}
}
