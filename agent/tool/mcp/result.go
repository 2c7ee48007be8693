package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-dev/parley/agent/tool"
)

// artifact is what a tool message keeps of a result beside its content, under
// the key that LangChain's adapters use.
type artifact struct {
	StructuredContent any `json:"structured_content,omitempty"`
}

// textBlock, dataBlock: content blocks as LangChain's messages have them.
type textBlock struct {
	Type string `json:"type"` // text
	Text string `json:"text"`
}

type dataBlock struct {
	Type     string `json:"type"` // image, audio, file
	Data     string `json:"data"` // base64
	MIMEType string `json:"mime_type"`
}

// resultOf is a server's result as the result of a tool: one text is the
// content as it is, else there are blocks; a structured result is the artifact,
// and the content where there is no other. Text beyond max bytes is cut.
func resultOf(res *sdk.CallToolResult, maxText int) (any, error) {
	b := blocks{left: maxText}
	for _, c := range res.Content {
		if err := b.add(c); err != nil {
			return nil, err
		}
	}
	out := tool.Result{Failed: res.IsError}
	if res.StructuredContent != nil {
		out.Artifact = artifact{res.StructuredContent}
		if len(b.all) == 0 {
			raw, err := json.Marshal(res.StructuredContent)
			if err != nil {
				return nil, fmt.Errorf("structured result: %w", err)
			}
			b.text(string(raw))
		}
	}
	if b.cut > 0 {
		b.all = append(b.all, textBlock{"text", fmt.Sprintf("[%d bytes of text left out: the result was too long]", b.cut)})
	}
	out.Content = b.content()
	return out, nil
}

// blocks gathers content blocks.
type blocks struct {
	all  tool.Blocks
	left int // bytes of text
	cut  int
}

func (b *blocks) text(s string) {
	if len(s) > b.left {
		end := b.left
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		b.cut += len(s) - end
		s = s[:end]
		if s == "" {
			b.left = 0
			return
		}
	}
	b.left -= len(s)
	b.all = append(b.all, textBlock{"text", s})
}

func (b *blocks) data(mime string, data []byte) {
	kind, _, _ := strings.Cut(mime, "/")
	if kind != "image" && kind != "audio" {
		kind = "file"
	}
	if mime == "" {
		mime = "application/octet-stream"
	}
	b.all = append(b.all, dataBlock{kind, base64.StdEncoding.EncodeToString(data), mime})
}

func (b *blocks) add(c sdk.Content) error {
	switch c := c.(type) {
	case *sdk.TextContent:
		b.text(c.Text)
	case *sdk.ImageContent:
		b.data(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		b.data(c.MIMEType, c.Data)
	case *sdk.ResourceLink: // models can't follow it, but other tools of the server may
		text := "Resource " + c.URI
		for _, more := range []string{c.Title, c.Name, c.Description, c.MIMEType} {
			if more != "" {
				text += "\n" + more
			}
		}
		b.text(text)
	case *sdk.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return fmt.Errorf("an embedded resource without contents")
		case c.Resource.Blob != nil:
			b.data(c.Resource.MIMEType, c.Resource.Blob)
		default:
			b.text(c.Resource.Text)
		}
	default:
		return fmt.Errorf("content of a kind that results don't have: %T", c)
	}
	return nil
}

// content is a plain text where there is nothing but text in one block.
func (b *blocks) content() any {
	switch len(b.all) {
	case 0:
		return ""
	case 1:
		if t, ok := b.all[0].(textBlock); ok {
			return t.Text
		}
	}
	return b.all
}
