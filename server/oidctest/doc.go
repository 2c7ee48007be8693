// Package oidctest signs people in to a server with an identity provider that is not our own: npm's oidc-provider,
// a certified implementation of OpenID Connect. Its tests are skipped where that isn't installed; run make test-oidc.
package oidctest
