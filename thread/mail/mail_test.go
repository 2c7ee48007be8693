package mail_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"mime"
	"net"
	netmail "net/mail"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp" // a real server for the tests
	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/mail"
)

// server is an SMTP server that keeps what it gets.
type server struct {
	mu       sync.Mutex
	got      []received
	refuse   *smtp.SMTPError // of recipients
	accounts map[string]string
	tls      *tls.Config
	roots    *x509.CertPool
	addr     string
}

type received struct {
	from, to, user string
	message        *netmail.Message
	body           string
}

// serve starts a server: plain, with STARTTLS, or with TLS from the start.
func serve(t *testing.T, how string) *server {
	t.Helper()
	s := &server{accounts: map[string]string{}}
	s.tls, s.roots = certificate(t)
	srv := smtp.NewServer(s)
	srv.Domain = "localhost"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.addr = listener.Addr().String()
	switch how {
	case mail.STARTTLS:
		srv.TLSConfig = s.tls
	case mail.TLS:
		listener = tls.NewListener(listener, s.tls)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, srv.Close())
		require.NoError(t, <-done)
	})
	return s
}

// certificate is one for 127.0.0.1, and who trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, roots
}

func (s *server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, encrypted := c.TLSConnectionState()
	return &session{s: s, encrypted: encrypted}, nil
}

type session struct {
	s         *server
	encrypted bool
	received
}

func (c *session) AuthMechanisms() []string {
	if len(c.s.accounts) == 0 || !c.encrypted {
		return nil
	}
	return []string{sasl.Plain}
}

func (c *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if c.s.accounts[user] != password {
			return smtp.ErrAuthFailed
		}
		c.user = user
		return nil
	}), nil
}

func (c *session) Mail(from string, _ *smtp.MailOptions) error {
	if len(c.s.accounts) > 0 && c.user == "" {
		return smtp.ErrAuthRequired
	}
	c.from = from
	return nil
}

func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if c.s.refuse != nil {
		return c.s.refuse
	}
	c.to = to
	return nil
}

func (c *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if c.message, err = netmail.ReadMessage(bytes.NewReader(raw)); err != nil {
		return err
	}
	body, err := io.ReadAll(c.message.Body)
	if err != nil {
		return err
	}
	c.body = string(body)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.got = append(c.s.got, c.received)
	return nil
}

func (c *session) Reset()        {}
func (c *session) Logout() error { return nil }

var notice = thread.Mail{
	ID: "0123456789abcdef-0", To: "rita@example.org", Subject: "Review waits for a decision: büro: pay",
	Text: "A review waits for a decision.\n\nhttps://parley.example.org/reviews/1\n", At: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
}

func send(t *testing.T, s *server, o mail.Options) error {
	t.Helper()
	o.Addr, o.From = s.addr, "Parley <parley@example.org>"
	o.TLSConfig = &tls.Config{ServerName: "127.0.0.1", RootCAs: s.roots, MinVersion: tls.VersionTLS12}
	sender, err := mail.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return sender.SendMail(ctx, notice)
}

func TestAMailComesAsItWasMeant(t *testing.T) {
	t.Parallel()
	for _, how := range []string{mail.STARTTLS, mail.TLS, mail.None} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := serve(t, how)
			require.NoError(t, send(t, s, mail.Options{TLS: how}))
			require.Len(t, s.got, 1)
			got := s.got[0]
			require.Equal(t, "parley@example.org", got.from)
			require.Equal(t, "rita@example.org", got.to)
			subject, err := new(mime.WordDecoder).DecodeHeader(got.message.Header.Get("Subject"))
			require.NoError(t, err)
			require.Equal(t, notice.Subject, subject)
			require.Equal(t, `"Parley" <parley@example.org>`, got.message.Header.Get("From"))
			require.Equal(t, "<0123456789abcdef-0@example.org>", got.message.Header.Get("Message-ID"))
			require.Equal(t, "auto-generated", got.message.Header.Get("Auto-Submitted"))
			require.Contains(t, got.body, "https://parley.example.org/reviews/1")
		})
	}
}

func TestLoggingIn(t *testing.T) {
	t.Parallel()
	s := serve(t, mail.STARTTLS)
	s.accounts["parley"] = "s3cret"
	require.NoError(t, send(t, s, mail.Options{Username: "parley", Password: "s3cret"}))
	require.Equal(t, "parley", s.got[0].user)
	err := send(t, s, mail.Options{Username: "parley", Password: "wr0ng"})
	require.Error(t, err)
	require.NotErrorIs(t, err, thread.ErrMailRefused, "a wrong password is put right by people: it is tried again")
	require.NotContains(t, err.Error(), "wr0ng")
}

// An address that doesn't exist is given up; a server that is busy isn't.
func TestWhatIsRefusedForGood(t *testing.T) {
	t.Parallel()
	s := serve(t, mail.None)
	s.refuse = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	require.ErrorIs(t, send(t, s, mail.Options{TLS: mail.None}), thread.ErrMailRefused)
	s.refuse = &smtp.SMTPError{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 2, 1}, Message: "later"}
	err := send(t, s, mail.Options{TLS: mail.None})
	require.Error(t, err)
	require.NotErrorIs(t, err, thread.ErrMailRefused)
	require.Empty(t, s.got)
}

func TestNothingGoesOutUnencrypted(t *testing.T) {
	t.Parallel()
	s := serve(t, mail.None)
	require.Error(t, send(t, s, mail.Options{}), "the server offers no STARTTLS")
	other := serve(t, mail.STARTTLS)
	s2 := &server{addr: other.addr, roots: x509.NewCertPool()}
	require.Error(t, send(t, s2, mail.Options{}), "nobody trusts its certificate")
	require.Empty(t, s.got)
	require.Empty(t, other.got)
}

func TestMistakesOfOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]mail.Options{
		"From":               {Addr: "localhost"},
		"Addr is missing":    {From: "a@b.c"},
		"is no port":         {From: "a@b.c", Addr: "localhost:smtp"},
		`unknown TLS "ssl"`:  {From: "a@b.c", Addr: "localhost", TLS: "ssl"},
		"sent without TLS":   {From: "a@b.c", Addr: "localhost", TLS: mail.None, Username: "u"},
		"too many colons":    {From: "a@b.c", Addr: "a:b:c"},
		"mail: From: mail: ": {From: "nobody\r\nBcc: a@b.c", Addr: "localhost"},
	} {
		_, err := mail.New(o)
		require.ErrorContains(t, err, want)
	}
	sender, err := mail.New(mail.Options{Addr: "localhost", From: "a@b.c"})
	require.NoError(t, err)
	bad := notice
	bad.To = "rita@example.org\r\nBcc: eve@example.org"
	require.ErrorIs(t, sender.SendMail(t.Context(), bad), thread.ErrMailRefused)
}
