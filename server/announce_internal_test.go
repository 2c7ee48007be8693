package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/thread"
	"github.com/parley-dev/parley/thread/mail"
)

func TestAnnouncementsAreConfiguredByFlagsAndEnvironment(t *testing.T) {
	t.Setenv(smtpPasswordEnv, "s3cret")
	t.Setenv(webhookSecretEnv, "signs")
	o := Options{Announce: Announce{PublicURL: "https://old.example.org", SMTP: mail.Options{TLS: mail.TLS}}}
	announceFlags{
		Notify: []string{"mailto:rita@example.org"}, PublicURL: "https://parley.example.org",
		SMTPAddr: "smtp.example.org", SMTPFrom: "parley@example.org", SMTPUsername: "parley",
	}.apply(&o)
	require.Equal(t, "signs", o.WebhookSecret)
	require.Equal(t, Announce{
		Notify: []string{"mailto:rita@example.org"}, PublicURL: "https://parley.example.org",
		SMTP: mail.Options{Addr: "smtp.example.org", From: "parley@example.org", Username: "parley", Password: "s3cret", TLS: mail.TLS},
	}, o.Announce)
	var to thread.Options
	require.NoError(t, o.Announce.announce(&to))
	require.NotNil(t, to.Mailer)
	require.Equal(t, o.Announce.Notify, to.Notify)

	require.NoError(t, Announce{}.announce(&to), "the default sends nothing")
	require.ErrorContains(t, Announce{SMTP: mail.Options{Addr: "smtp.example.org"}}.announce(&to), "From")
}
