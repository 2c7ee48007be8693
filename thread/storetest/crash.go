package storetest

import (
	"bufio"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
)

// What the environment says to Crash.
const (
	// CrashKills is how often the process is killed. Default: 20.
	CrashKills = "PARLEY_CRASH_KILLS"
	// CrashSeed fixes when. Default: another one each time; it is logged.
	CrashSeed = "PARLEY_CRASH_SEED"
	crashDir  = "PARLEY_CRASH_DIR" // set in the process that will be killed
)

const defaultKills = 20

// Crash starts the test binary again as a process that works on the store in a
// directory and reports each transition before and after it. It kills that
// process, opens the store and checks: nothing that was reported done is lost,
// nothing is half there, no number or token is given twice. Then again, on the
// same store. open opens the store that lives in dir.
func Crash(t *testing.T, open func(dir string) (thread.Store, error)) {
	if dir := os.Getenv(crashDir); dir != "" {
		s, err := open(dir)
		if err == nil {
			err = newVictim(s, os.Stdout, seedFrom(t)).run()
		}
		t.Log(err) // only reached when the store fails
		os.Exit(3)
	}
	seed := seedFrom(t)
	t.Logf("%s=%d", CrashSeed, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir, books := t.TempDir(), newLedger()
	total := kills(t)
	for kill := range total {
		transitions := 1 + random.IntN(300)
		victim := startVictim(t, dir, random.Uint64())
		n, err := victim.readUntil(transitions, books)
		require.NoError(t, err, "kill %d", kill)
		if n < transitions {
			_ = victim.cmd.Wait() // what it says is what matters
			require.FailNow(t, "the process ended by itself", "kill %d: %s", kill, victim.stderr.String())
		}
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond) // somewhere inside of a transition
		require.NoError(t, victim.cmd.Process.Kill())
		_, err = victim.readUntil(1<<30, books)
		require.NoError(t, err, "kill %d", kill)
		_ = victim.cmd.Wait() // it was killed
		s, err := open(dir)
		require.NoError(t, err, "kill %d", kill)
		books.check(&env{T: t, Store: s, ctx: t.Context()}, kill == total-1)
		require.NoError(t, s.Close())
		if t.Failed() {
			t.FailNow()
		}
	}
	books.sayWhatHappened(t)
}

func kills(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv(CrashKills))
	if os.Getenv(CrashKills) == "" {
		return defaultKills
	}
	require.NoError(t, err)
	return n
}

func seedFrom(t *testing.T) uint64 {
	text := os.Getenv(CrashSeed)
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return seed
}

// process is the running victim.
type process struct {
	cmd    *exec.Cmd
	lines  *bufio.Reader
	stderr strings.Builder
}

func startVictim(t *testing.T, dir string, seed uint64) *process {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	p := &process{cmd: exec.CommandContext(t.Context(), exe, "-test.run", pattern(t.Name()), "-test.timeout", "2m", "-test.paniconexit0=false")}
	p.cmd.Env = append(os.Environ(), crashDir+"="+dir, CrashSeed+"="+strconv.FormatUint(seed, 10))
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	p.lines = bufio.NewReader(out)
	return p
}

// pattern selects one test, subtests included.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + p + "$"
	}
	return strings.Join(parts, "/")
}

// readUntil enters reports into the books until n transitions are done or the
// process has no more to say. A line that the kill cut off counts for nothing.
func (p *process) readUntil(n int, books *ledger) (done int, err error) {
	for done < n {
		line, err := p.lines.ReadBytes('\n')
		if err == io.EOF || err != nil && strings.Contains(err.Error(), "file already closed") {
			return done, nil
		}
		if err != nil {
			return done, err
		}
		if line[0] != '{' {
			continue // the testing package speaks on the same pipe
		}
		var r report
		if err := json.Unmarshal(line, &r); err != nil {
			return done, err
		}
		if err := books.enter(r); err != nil {
			return done, err
		}
		if r.Done {
			done++
		}
	}
	return done, nil
}
