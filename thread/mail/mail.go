// Package mail sends the announcements of reviews by SMTP.
package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail" // builds and sends messages: net/smtp is frozen and does neither MIME nor authentication that servers ask for today

	"github.com/parley-dev/parley/thread"
)

// How the connection is encrypted.
const (
	// STARTTLS upgrades a plain connection and refuses to go on without. The default.
	STARTTLS = "starttls"
	// TLS is encrypted from the start, as on port 465.
	TLS = "tls"
	// None is plain text: for a relay on this machine or in a private network. Passwords aren't sent that way.
	None = "none"
)

// timeout bounds the sending of one message.
const timeout = 10 * time.Second

// Options configure a Sender.
type Options struct {
	// Addr is the server, host:port; required. Default port: 465 with TLS, else 587.
	Addr string
	// From is the sender's address, as in Parley <parley@example.org>; required.
	From string
	// Username and Password log in; "" for a server that wants neither.
	Username string
	Password string
	// TLS is one of the constants above. Default: STARTTLS.
	TLS string
	// TLSConfig replaces the default configuration: the system's authorities, at least TLS 1.2.
	TLSConfig *tls.Config
}

// Sender sends mails. It is safe for concurrent use; each message has a connection of its own.
type Sender struct {
	host    string
	from    *netmail.Address
	options []gomail.Option
}

var _ thread.Mailer = (*Sender)(nil)

// New returns a Sender; nothing is sent yet. Errors: an address that is none, an unknown TLS, a password without encryption.
func New(o Options) (*Sender, error) {
	from, err := netmail.ParseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("mail: From: %w", err)
	}
	s := &Sender{from: from, options: []gomail.Option{gomail.WithTimeout(timeout)}}
	port := 587
	switch o.TLS {
	case "", STARTTLS:
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case TLS:
		port = 465
		s.options = append(s.options, gomail.WithSSL())
	case None:
		s.options = append(s.options, gomail.WithTLSPolicy(gomail.NoTLS))
		if o.Username != "" {
			return nil, errors.New("mail: a password isn't sent without TLS")
		}
	default:
		return nil, fmt.Errorf("mail: unknown TLS %q; there are %s, %s and %s", o.TLS, STARTTLS, TLS, None)
	}
	if s.host = o.Addr; strings.Contains(o.Addr, ":") {
		var text string
		if s.host, text, err = net.SplitHostPort(o.Addr); err != nil {
			return nil, fmt.Errorf("mail: Addr: %w", err)
		}
		if port, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("mail: Addr: %q is no port", text)
		}
	}
	if s.host == "" {
		return nil, errors.New("mail: Addr is missing")
	}
	config := o.TLSConfig
	if config == nil {
		config = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	}
	s.options = append(s.options, gomail.WithPort(port), gomail.WithTLSConfig(config))
	if o.Username != "" {
		s.options = append(s.options,
			gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(o.Username), gomail.WithPassword(o.Password))
	}
	if _, err := gomail.NewClient(s.host, s.options...); err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	return s, nil
}

// SendMail implements thread.Mailer. An address that is none, and one that the server refuses for good, are thread.ErrMailRefused.
func (s *Sender) SendMail(ctx context.Context, m thread.Mail) error {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	if err := msg.To(m.To); err != nil {
		return fmt.Errorf("%w: %w", thread.ErrMailRefused, err)
	}
	msg.Subject(m.Subject)
	msg.SetDateWithValue(m.At)
	// The same for each attempt: a message that came although its acknowledgement was lost is shown once.
	_, domain, _ := strings.Cut(s.from.Address, "@")
	msg.SetMessageIDWithValue(m.ID + "@" + domain)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence answers it
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	if err := client.DialAndSendWithContext(ctx, msg); err != nil {
		if refused(err) {
			return fmt.Errorf("%w: %w", thread.ErrMailRefused, err)
		}
		return fmt.Errorf("mail: %w", err)
	}
	return nil
}

// refused reports whether the server takes no such mail, now or later.
func refused(err error) bool {
	var failed *gomail.SendError
	if !errors.As(err, &failed) || failed.IsTemp() || failed.ErrorCode() < 500 {
		return false
	}
	switch failed.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
		return true
	}
	return false
}
