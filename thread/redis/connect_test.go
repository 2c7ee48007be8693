package redis_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	rds "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/redis/redistest"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://":                                  "single localhost:6379",
		"redis://h":                                 "single h:6379",
		"redis://u:p%40ss@h:1/3":                    "single h:1 db 3 u p@ss",
		"redis://:p@[::1]:7?pool_size=5":            "single [::1]:7  p",
		"rediss://h:1":                              "single h:1 tls h",
		"rediss://h:1?server_name=x":                "single h:1 tls x",
		"redis+cluster://a:1,b:2,c":                 "cluster a:1 b:2 c:6379",
		"redis+sentinel://a,b:2/main/4":             "single FailoverClient db 4",
		"redis+sentinel://a":                        "error Sentinel wants the master's name",
		"redis+cluster://a/1":                       "error database",
		"redis://a,b":                               "error several hosts",
		"http://a":                                  "error scheme",
		"a:1":                                       "error no scheme",
		"redis://a/x":                               "error database",
		"redis://a?pool_size=0":                     "error pool_size",
		"redis://a?prefx=x:":                        "error no parameter \"prefx\"; of this one there are prefix, pool_size",
		"redis://a?ca=/x":                           "error no parameter \"ca\"",
		"rediss://a?sentinel_password=secret":       "error no parameter \"sentinel_password\"; of this one there are prefix, pool_size, ca, server_name",
		"rediss://a?ca=" + t.TempDir() + "/nothing": "error ca",
	} {
		c, err := redis.Connect(url)
		if text, ok := strings.CutPrefix(want, "error "); ok {
			require.ErrorContains(t, err, text, url)
			require.NotContains(t, err.Error(), "secret")
			continue
		}
		require.NoError(t, err, url)
		got := ""
		switch c := c.(type) {
		case *rds.ClusterClient:
			got = "cluster " + strings.Join(c.Options().Addrs, " ")
			require.Equal(t, 2*time.Second, c.Options().ClusterStateReloadInterval, "pitfall 2")
		case *rds.Client:
			o := c.Options()
			got = "single " + o.Addr
			if o.DB > 0 {
				got += " db " + strconv.Itoa(o.DB)
			}
			if o.Password != "" {
				got += " " + o.Username + " " + o.Password
			}
			if o.TLSConfig != nil {
				got += " tls " + o.TLSConfig.ServerName
			}
		}
		require.Equal(t, want, got, url)
		require.NoError(t, c.Close())
	}
	_, err := redis.Connect("x://u:secret@h")
	require.ErrorContains(t, err, "scheme")
	require.NotContains(t, err.Error(), "secret")
}

// tryOut does a run on the store.
func tryOut(t *testing.T, s *redis.Store) {
	t.Helper()
	a := admission(newID())
	a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
	admitted, err := s.AdmitRun(t.Context(), a)
	require.NoError(t, err)
	_, err = s.Commit(t.Context(), *admitted.Lease, finish(superstep(*admitted.Lease, 1)))
	require.NoError(t, err)
	list, total, err := s.SearchThreads(t.Context(), thread.ThreadQuery{Metadata: thread.Metadata{"owner": raw(`"ann"`)}, Status: thread.Idle})
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.NoError(t, s.DeleteThread(t.Context(), list[0].ID))
}

// TestTLS: rediss:// with a certificate authority of one's own (D-74).
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	port := freePort(t)
	redistest.Start(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	url := "rediss://127.0.0.1:" + strconv.Itoa(port)
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: url + "?ca=" + cert})
	require.NoError(t, err)
	tryOut(t, s)
	require.NoError(t, s.Close())
	_, err = redis.Open(t.Context(), redis.Options{Logger: quiet, URL: url})
	require.ErrorContains(t, err, "certificate", "it isn't trusted")
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// certificate makes a certificate for 127.0.0.1 that is its own authority.
func certificate(t *testing.T, dir string) (certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
	return certFile, keyFile
}

// TestUserBoundToAPrefix: a user who may touch nothing but the prefix's keys and
// channels, and run no command that isn't needed, is enough: none of a module's (D-80).
func TestUserBoundToAPrefix(t *testing.T) {
	t.Parallel()
	p := redistest.Start(t)
	admin := rds.NewClient(&rds.Options{Addr: p.Addr(), DisableIdentity: true})
	defer admin.Close()
	rules := []any{"ACL", "SETUSER", "parley", "on", ">secret", "resetkeys", "resetchannels", "~app:*", "&app:*", "nocommands"}
	for _, r := range redis.ACLCommands {
		rules = append(rules, "+"+r)
	}
	require.NoError(t, admin.Do(t.Context(), rules...).Err())
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: "redis://parley:secret@" + p.Addr() + "?prefix=app:"})
	require.NoError(t, err)
	l := newListener(s)
	s.Subscribe(l).Watch("x")
	l.until(t, "it listens", func() bool { return l.work > 0 })
	tryOut(t, s)
	_, _, err = s.SearchThreads(t.Context(), thread.ThreadQuery{SortBy: "updated_at"})
	require.NoError(t, err)
	for _, ttl := range []time.Duration{time.Minute, 0} {
		_, err = s.Look(t.Context(), "x", "ann", time.Now(), ttl, 1)
		require.NoError(t, err)
	}
	_, err = s.ExpireLogs(t.Context(), time.Now(), 10)
	require.NoError(t, err)
	require.NoError(t, s.SweepAll(t.Context()))
	require.NoError(t, s.Close())
	keys, err := admin.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	for _, k := range keys {
		require.True(t, strings.HasPrefix(k, "app:"), k)
	}
	_, err = redis.Open(t.Context(), redis.Options{Logger: quiet, URL: "redis://parley:secret@" + p.Addr()})
	require.Error(t, err, "other keys are out of reach")
}

// TestSentinelFailsOver: the store goes on with the replica that was promoted (D-74).
func TestSentinelFailsOver(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a fail-over")
	}
	group := redistest.StartGroup(t, 1500*time.Millisecond)
	_, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: "redis+sentinel://" + group.Sentinel + "/another"})
	require.ErrorContains(t, err, `knows no master "another"`)
	master := group.Master
	watch := rds.NewClient(&rds.Options{Addr: group.Replica.Addr(), DisableIdentity: true})
	defer watch.Close()
	s, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: group.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	other, err := redis.Open(t.Context(), redis.Options{Logger: quiet, URL: group.URL()})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	l := newListener(other)
	sub := other.Subscribe(l)
	a := admission(newID())
	a.Claim = &thread.Claim{Worker: "w", Lease: time.Minute}
	admitted, err := s.AdmitRun(t.Context(), a)
	require.NoError(t, err)
	lease := *admitted.Lease
	sub.Watch(lease.ThreadID)
	require.Eventually(t, func() bool { // what was promised only to the master may be lost, and isn't what this test is about
		n, err := watch.Exists(context.Background(), redis.DefaultPrefix+"{"+lease.ThreadID+"}:head").Result()
		return err == nil && n == 1
	}, 30*time.Second, 10*time.Millisecond)
	master.Stop()
	require.NoError(t, s.AppendLog(t.Context(), lease, notes(lease, lease.NextPos, 10)), "the worker waits for the new master")
	c := finish(superstep(lease, 2))
	_, err = s.Commit(t.Context(), lease, c)
	require.NoError(t, err)
	last := c.Entries[len(c.Entries)-1].Pos
	l.until(t, "the subscription moved along", func() bool { return l.last(lease.ThreadID) == last })
	role, err := watch.Do(t.Context(), "ROLE").Slice()
	require.NoError(t, err)
	require.Equal(t, "master", role[0])
	next, err := s.AdmitRun(t.Context(), thread.Admission{Run: admission(lease.ThreadID).Run, Strategy: "reject", Claim: a.Claim})
	require.NoError(t, err)
	require.Greater(t, next.Lease.NextPos, last+skipped, "numbers jump: the new master may not know all")
}
