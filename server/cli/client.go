package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Connection says which server is asked, and as whom.
type Connection struct {
	BaseURL   string `name:"base-url" help:"Address of the server. Default: http://127.0.0.1:2024" default:"http://127.0.0.1:2024" env:"PARLEY_BASE_URL" placeholder:"URL"`
	Key       string `name:"api-key" help:"API key or bearer token. Better in the environment, where nobody else sees it." env:"PARLEY_API_KEY" placeholder:"KEY"`
	Project   string `help:"Project." default:"default" env:"PARLEY_PROJECT"`
	Workspace string `help:"Workspace." default:"default" env:"PARLEY_WORKSPACE"`
}

// APIError is a failure that the server told of; Status is 0 when none answered.
type APIError struct {
	Status int
	// Code is the server's name for the failure; "" for none.
	Code   string
	Detail string
	// Fields are what is wrong with the request, one a line.
	Fields []string
	// Body is the reply as it came.
	Body json.RawMessage
	// ReviewIDs are the reviews that the failure is about.
	ReviewIDs []string
}

func (e *APIError) Error() string {
	return strings.Join(append([]string{e.Detail}, e.Fields...), "\n  ")
}

// client sends requests.
type client struct {
	Connection
	http    *http.Client
	headers http.Header // of each request, beside the credentials
}

func (c Connection) client() *client { return &client{Connection: c, http: &http.Client{}} }

// Call sends a request and decodes its reply into out, unless that is nil. Errors have their exit codes; of a refusal it is an *APIError.
func (c Connection) Call(ctx context.Context, method, path string, in, out any) error {
	return coded(c.client().call(ctx, method, path, nil, in, out))
}

// project is the path of the project's resources.
func (c *client) project(parts ...string) string {
	path := "/api/v1/projects/" + url.PathEscape(c.Project)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// call sends a request and decodes its reply into out, unless that is nil. The error of a refusal is an *APIError.
func (c *client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	resp, err := c.send(ctx, method, path, query, in)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if out == nil {
		return nil
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return c.nobody(err)
	}
	if err := json.Unmarshal(b, out); err != nil && !json.Valid(b) {
		return c.somebodyElse()
	} else if err != nil {
		return fmt.Errorf("%s %s: reply: %w", method, path, err)
	}
	return nil
}

// send returns a good reply, whose body the caller closes.
func (c *client) send(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	if err := checkAddress(c.BaseURL); err != nil {
		return nil, err
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	address := strings.TrimSuffix(c.BaseURL, "/") + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}
	for k, v := range c.allHeaders() {
		req.Header[k] = v
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, c.nobody(err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	e := refusal(resp)
	switch {
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
		return nil, c.somebodyElse()
	case e.Status != http.StatusUnauthorized:
	case c.Key == "":
		e.Detail = "The server wants to know who you are: put an API key, or a token, into PARLEY_API_KEY."
	default:
		e.Fields = append(e.Fields, "it came from PARLEY_API_KEY or --api-key")
	}
	return nil, e
}

// allHeaders are the credentials and the client's own headers.
func (c *client) allHeaders() http.Header {
	h := c.headers.Clone()
	if h == nil {
		h = http.Header{}
	}
	if c.Key != "" {
		h.Set("Authorization", "Bearer "+c.Key)
	}
	return h
}

// mostOfRefusal bounds what is read of a refusal.
const mostOfRefusal = 1 << 20

// refusal reads a failure in any of the server's forms.
func refusal(resp *http.Response) *APIError {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, mostOfRefusal)) // what there is of it
	e := &APIError{Status: resp.StatusCode, Body: b}
	var said struct {
		Detail    string   `json:"detail"`
		Message   string   `json:"message"`
		Code      string   `json:"errorCode"`
		ReviewIDs []string `json:"review_ids"`
		// Of conflicts: who was faster, and what they chose.
		By       string `json:"by"`
		At       string `json:"at"`
		Decision string `json:"decision"`
		Assignee string `json:"assignee"`
		Bad      struct {
			Fields []struct {
				Description string `json:"description"`
				Field       string `json:"field"`
			} `json:"fields"`
		} `json:"badRequestDetail"`
	}
	_ = json.Unmarshal(b, &said) // some are plain text
	e.Code, e.ReviewIDs = said.Code, said.ReviewIDs
	switch issues := issuesIn(b); {
	case len(issues) > 0:
		e.Detail, e.Fields = issues[0], issues[1:]
	case said.Detail != "":
		e.Detail = said.Detail
	case said.Message != "":
		e.Detail = said.Message
	case json.Valid(b) || len(b) == 0:
		e.Detail = resp.Status
	default:
		e.Detail = strings.TrimSpace(string(b))
	}
	switch {
	case said.At != "" && !strings.Contains(e.Detail, said.At):
		e.Fields = append(e.Fields, fmt.Sprintf("%s by %s at %s", or(said.Decision, "answered"), or(said.By, "somebody who didn't say who they are"), said.At))
	case said.Assignee != "" && !strings.Contains(e.Detail, said.Assignee):
		e.Fields = append(e.Fields, "claimed by "+said.Assignee)
	}
	for _, f := range said.Bad.Fields {
		if f.Description != e.Detail {
			e.Fields = append(e.Fields, f.Field+": "+f.Description)
		}
	}
	return e
}
