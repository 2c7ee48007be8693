package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/parley-dev/parley/server/auth"
)

// FlowLife is how long people may take to sign in.
const FlowLife = 10 * time.Minute

// Flow is a sign-in under way. It holds secrets: whoever keeps it has to seal it.
type Flow struct {
	// State comes back with the answer: it proves that this browser asked.
	State string `json:"s"`
	// Nonce comes back in the ID token: it proves that the token was made for this sign-in.
	Nonce string `json:"n"`
	// Verifier is PKCE's: whoever else gets the code can do nothing with it.
	Verifier string `json:"v"`
	// Redirect is the address to which the answer comes.
	Redirect string `json:"r"`
	// Back is where people go on; see Back.
	Back string `json:"b"`
	// Expires is when it is over, in seconds since the epoch.
	Expires int64 `json:"x"`
}

// Grant is what a sign-in, or a renewal, has given.
type Grant struct {
	User *auth.User
	// Subject is the user's id at the issuer.
	Subject string
	// RefreshToken renews it; "" for none.
	RefreshToken string
	// IDToken tells the issuer whom to sign out.
	IDToken string
}

// Begin is the first half of a sign-in: the issuer's page to send people to, and what to remember. anew has them
// show again who they are, even if the issuer knows them still.
func (c *Client) Begin(ctx context.Context, redirect, back string, anew bool) (page string, f Flow, err error) {
	config, _, err := c.config(ctx, redirect)
	if err != nil {
		return "", Flow{}, err
	}
	f = Flow{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: redirect, Back: Back(back),
		Expires: c.o.Now().Add(FlowLife).Unix(),
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(f.Verifier), oauth2.SetAuthURLParam("nonce", f.Nonce)}
	if anew {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	return config.AuthCodeURL(f.State, options...), f, nil
}

// Finish is the second half: answer is the query with which the issuer sent the person back. Errors are *Failure.
func (c *Client) Finish(ctx context.Context, f Flow, answer url.Values) (Grant, error) {
	switch {
	case f.State == "", subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(f.State)) != 1:
		return Grant{}, &Failure{Expired, errors.New("the state is that of another sign-in")}
	case c.o.Now().Unix() >= f.Expires:
		return Grant{}, &Failure{Expired, errors.New("it took too long")}
	}
	config, p, err := c.config(ctx, f.Redirect)
	if err != nil {
		return Grant{}, err
	}
	if from := answer.Get("iss"); from != p.Issuer && (from != "" || p.NamesItself) { // RFC 9207: no mix-up of issuers
		return Grant{}, &Failure{Failed, fmt.Errorf("the answer is of the issuer %q", bounded(from))}
	}
	switch code := answer.Get("error"); code {
	case "":
	case "access_denied":
		return Grant{}, &Failure{Denied, errors.New(code)}
	default:
		return Grant{}, &Failure{Failed, fmt.Errorf("%q: %q", bounded(code), bounded(answer.Get("error_description")))}
	}
	t, err := config.Exchange(c.calling(ctx), answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return Grant{}, exchangeFailure(err)
	}
	return c.grant(ctx, t, f.Nonce, "")
}

// Renew exchanges a refresh token. Errors are *Failure; Expired says that it is used up, or taken back.
func (c *Client) Renew(ctx context.Context, refresh, subject string) (Grant, error) {
	config, _, err := c.config(ctx, "")
	if err != nil {
		return Grant{}, err
	}
	t, err := config.TokenSource(c.calling(ctx), &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return Grant{}, exchangeFailure(err)
	}
	return c.grant(ctx, t, "", subject)
}

// grant checks what the token endpoint has given; subject, if it is known already, must be the same.
func (c *Client) grant(ctx context.Context, t *oauth2.Token, nonce, subject string) (Grant, error) {
	text, _ := t.Extra("id_token").(string)
	if text == "" {
		return Grant{}, &Failure{Failed, errors.New("the issuer gave no ID token")}
	}
	id, err := c.tokens.IDToken(ctx, text, c.o.ClientID, nonce)
	if err != nil {
		return Grant{}, tokenFailure(err)
	}
	if subject != "" && id.Subject != subject {
		return Grant{}, &Failure{Failed, errors.New("the renewed ID token is about somebody else")}
	}
	u, err := c.tokens.Person(ctx, id, t.AccessToken)
	if err != nil {
		return Grant{}, tokenFailure(err)
	}
	return Grant{User: u, Subject: id.Subject, RefreshToken: t.RefreshToken, IDToken: text}, nil
}

// calling has requests to the token endpoint made by the client's own HTTP client.
func (c *Client) calling(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, c.o.HTTP)
}

// bounded is what the log takes of a text that anybody can have made.
func bounded(s string) string { return s[:min(len(s), 200)] }
