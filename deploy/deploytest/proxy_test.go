package deploytest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxy is a kind of reverse proxy, with its configuration in deploy.
type proxy struct {
	name, binary, pkg, file string
	// command starts it in the foreground with a configuration, in a directory of its own.
	command func(binary, dir, config string) []string
	// listens is how the configuration names the address to listen on; address is the same of the test.
	listens, address string
	// adapt makes of the configuration what it says about the version that is there.
	adapt func(t *testing.T, binary, config string) string
	// stop ends it at once, with its children, whatever streams are open.
	stop os.Signal
	// impatient are changes that give up a silent upstream after 8 s.
	impatient [2]string
}

var proxies = []proxy{
	{
		name: "caddy", binary: "caddy", pkg: "caddy", file: "deploy/Caddyfile",
		command: func(binary, _, config string) []string {
			return []string{binary, "run", "--adapter", "caddyfile", "--config", config}
		},
		stop:    os.Kill,
		adapt:   adaptCaddy,
		listens: "\n:80 {", address: "\n{\n\tadmin off\n}\nhttp://127.0.0.1:PORT {\n\tbind 127.0.0.1",
		impatient: [2]string{"dial_timeout 2s", "dial_timeout 2s\n\t\tread_timeout 8s"},
	},
	{
		name: "nginx", binary: "nginx", pkg: "nginx-light", file: "deploy/nginx.conf",
		command: func(binary, dir, config string) []string {
			return []string{binary, "-p", dir, "-c", config, "-e", filepath.Join(dir, "error.log"), "-g", "daemon off;"}
		},
		stop:    syscall.SIGTERM, // os.Kill would leave its workers
		listens: "listen 80;", address: "listen 127.0.0.1:PORT; access_log off;",
		impatient: [2]string{"proxy_read_timeout 60s;", "proxy_read_timeout 8s;"},
	},
}

// each runs a test behind each proxy that is there, side by side. The tests themselves
// come one after the other: each topology is five processes.
func each(t *testing.T, test func(t *testing.T, p proxy)) {
	for _, p := range proxies {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(p.binary)
			if err != nil {
				for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} { // not in everybody's PATH
					if _, err = os.Stat(filepath.Join(dir, p.binary)); err == nil {
						path = filepath.Join(dir, p.binary)
						break
					}
				}
			}
			if err != nil {
				t.Skipf("%s is missing: install it (Debian: apt-get install %s)", p.binary, p.pkg)
			}
			p.binary = path
			test(t, p)
		})
	}
}

// start runs the proxy before the cluster with its configuration of deploy, in which
// addresses and what change names are replaced. It returns its URL.
func (p proxy) start(t *testing.T, c *cluster, change ...[2]string) string {
	t.Helper()
	port := strconv.Itoa(freePort(t))
	config := "\n" + file(t, p.file)
	change = append(change, [2]string{p.listens, strings.ReplaceAll(p.address, "PORT", port)})
	for i, r := range c.replicas {
		change = append(change, [2]string{"parley-" + strconv.Itoa(i+1) + ":2024", r.addr()})
	}
	for _, pair := range change {
		require.Equal(t, 1, strings.Count(config, pair[0]), "%s in %s", pair[0], p.file)
		config = strings.Replace(config, pair[0], pair[1], 1)
	}
	if p.adapt != nil {
		config = p.adapt(t, p.binary, config)
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "logs"), 0o755)) //nolint:gosec // nginx' workers may be another user
	path := filepath.Join(dir, filepath.Base(p.file))
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	line := p.command(p.binary, dir, path)
	cmd := exec.Command(line[0], line[1:]...) //nolint:gosec,noctx // ours; the test ends it
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var said strings.Builder
	cmd.Stderr, cmd.Stdout = &said, &said
	cmd.WaitDelay = 10 * time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(p.stop)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, tail(said.String()))
		}
	})
	url := "http://127.0.0.1:" + port
	eventually(t, p.name+" answers", func() bool { return status(url+"/readyz") == http.StatusOK })
	return url
}

// adaptCaddy takes the lines for versions before 2.8 in, which end broken streams as if they were complete.
func adaptCaddy(t *testing.T, binary, config string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, "version").Output() //nolint:gosec // a proxy of this machine
	require.NoError(t, err)
	var major, minor int
	_, err = fmt.Sscanf(strings.TrimPrefix(string(out), "v"), "%d.%d", &major, &minor)
	if err != nil || major > 2 || minor >= 8 { // one that was built from source says nothing
		return config
	}
	require.Contains(t, config, "#old: ")
	return strings.ReplaceAll(config, "#old: ", "")
}

func tail(s string) string {
	return s[max(0, len(s)-4000):]
}
