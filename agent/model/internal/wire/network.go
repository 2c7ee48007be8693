package wire

import (
	"crypto/tls"
	"errors"
	"net/url"
)

// plain leaves the URL out of a network error: it may have a secret in its query.
func plain(err error) error {
	var where *url.Error
	if errors.As(err, &where) {
		return where.Err
	}
	return err
}

// hopeless reports a network error that the next try would meet again.
func hopeless(err error) bool {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &cert) || errors.As(err, &record)
}
