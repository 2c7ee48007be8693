package server

import (
	"fmt"
	"os"
	"strings"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/mail"
)

// Announce says who is told of reviews, and how.
type Announce struct {
	// Notify lists where each change of a review is announced: URLs of webhooks, signed with WebhookSecret, and
	// mailto:name@example.org, which needs SMTP. Default: nowhere.
	Notify []string
	// PublicURL is where people reach the server; links in announcements begin with it, and people who
	// sign in with an identity provider come back there. Default: no links; they come back to where they were.
	PublicURL string
	// SMTP sends the mails. The zero value sends none.
	SMTP mail.Options
}

// announce completes the service's options.
func (a Announce) announce(o *thread.Options) error {
	o.Notify, o.PublicURL = a.Notify, a.PublicURL
	if a.SMTP.Addr == "" && a.SMTP.From == "" {
		return nil
	}
	sender, err := mail.New(a.SMTP)
	if err != nil {
		return fmt.Errorf("server: SMTP: %w", err)
	}
	o.Mailer = sender
	return nil
}

// needsMail names an address that mails go to, when no server is known that sends them.
func (a Announce) needsMail() error {
	for _, address := range a.Notify {
		if strings.HasPrefix(address, "mailto:") && a.SMTP.Addr == "" {
			return fmt.Errorf("--notify %s needs --smtp-addr and --smtp-from (docs/human-in-the-loop.md)", address)
		}
	}
	return nil
}

// announceFlags are the flags of Announce.
type announceFlags struct {
	Notify       []string `help:"Where changes of reviews are announced: URL of a webhook, or mailto:ADDRESS." env:"PARLEY_NOTIFY" placeholder:"ADDRESS" group:"Announcements (docs/human-in-the-loop.md)"`
	PublicURL    string   `name:"public-url" help:"Where people reach this server, for links in announcements and for signing in." env:"PARLEY_PUBLIC_URL" placeholder:"URL" group:"Announcements (docs/human-in-the-loop.md)"`
	SMTPAddr     string   `name:"smtp-addr" help:"Server that sends mails." env:"PARLEY_SMTP_ADDR" placeholder:"HOST:PORT" group:"Announcements (docs/human-in-the-loop.md)"`
	SMTPFrom     string   `name:"smtp-from" help:"Sender of mails." env:"PARLEY_SMTP_FROM" placeholder:"ADDRESS" group:"Announcements (docs/human-in-the-loop.md)"`
	SMTPUsername string   `name:"smtp-username" help:"Who logs in there, with the password in PARLEY_SMTP_PASSWORD." env:"PARLEY_SMTP_USERNAME" placeholder:"NAME" group:"Announcements (docs/human-in-the-loop.md)"`
	SMTPTLS      string   `name:"smtp-tls" help:"How that is encrypted: starttls (default), tls or none." env:"PARLEY_SMTP_TLS" placeholder:"HOW" group:"Announcements (docs/human-in-the-loop.md)"`
}

// The environment's secrets.
const (
	smtpPasswordEnv  = "PARLEY_SMTP_PASSWORD"  //nolint:gosec // a name, no secret
	webhookSecretEnv = "PARLEY_WEBHOOK_SECRET" //nolint:gosec // Options.WebhookSecret
)

// apply takes the flags and the environment over.
func (f announceFlags) apply(o *Options) {
	if len(f.Notify) > 0 {
		o.Announce.Notify = f.Notify
	}
	override(&o.Announce.PublicURL, f.PublicURL)
	override(&o.Announce.SMTP.Addr, f.SMTPAddr)
	override(&o.Announce.SMTP.From, f.SMTPFrom)
	override(&o.Announce.SMTP.Username, f.SMTPUsername)
	override(&o.Announce.SMTP.TLS, f.SMTPTLS)
	override(&o.Announce.SMTP.Password, os.Getenv(smtpPasswordEnv))
	override(&o.WebhookSecret, os.Getenv(webhookSecretEnv))
}
