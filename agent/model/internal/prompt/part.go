// Package prompt reads a model's input for the providers' adapters: content
// blocks in the forms that clients and other providers write them, and a history
// in an order that each provider accepts.
package prompt

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-dev/parley/agent/message"
)

// Kind of a Part.
type Kind string

// Kinds of parts. Other is a block that isn't meant for a prompt or that nobody knows.
const (
	Text      Kind = "text"
	Image     Kind = "image"
	Audio     Kind = "audio"
	Video     Kind = "video"
	File      Kind = "file"
	Reasoning Kind = "reasoning"
	ToolCall  Kind = "tool_call"
	Other     Kind = "other"
)

// Part is one content block.
type Part struct {
	Kind Kind
	// Type is the block's own type.
	Type string
	// Text of text and reasoning.
	Text string
	// Signature of reasoning; Redacted is reasoning that only its maker can read.
	Signature string
	Redacted  string
	// Media have one of URL, Data (base64) and FileID; MIME with Data.
	URL, Data, FileID string
	MIME              string
	// Name of a file, Detail of an image; may be empty.
	Name, Detail string
}

// Media reports whether the part is an image, sound, film or file.
func (p Part) Media() bool {
	return p.Kind == Image || p.Kind == Audio || p.Kind == Video || p.Kind == File
}

// Parts reads the content of a message; empty texts are left out.
func Parts(m message.Message) ([]Part, error) {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return texts(nil, text), nil
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(m.Content, &blocks); err != nil {
		return nil, fmt.Errorf("the content of a message is neither a text nor a list of blocks")
	}
	var parts []Part
	for i, raw := range blocks {
		if json.Unmarshal(raw, &text) == nil {
			parts = texts(parts, text)
			continue
		}
		p, err := part(raw)
		if err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
		if p.Kind != Text || p.Text != "" {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

func texts(parts []Part, text string) []Part {
	if text == "" {
		return parts
	}
	return append(parts, Part{Kind: Text, Type: "text", Text: text})
}

// block has the keys of all forms: LangChain's standard blocks, old and new, in
// both casings, OpenAI's and Anthropic's.
type block struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	Reasoning  string          `json:"reasoning"`
	Thinking   json.RawMessage `json:"thinking"`
	Signature  string          `json:"signature"`
	Extras     extras          `json:"extras"`
	URL        string          `json:"url"`
	Data       string          `json:"data"`
	MIME       string          `json:"mime_type"`
	MIMECamel  string          `json:"mimeType"`
	FileID     string          `json:"file_id"`
	FileCamel  string          `json:"fileId"`
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Filename   string          `json:"filename"`
	SourceType string          `json:"source_type"`
	Source     *source         `json:"source"`
	ImageURL   json.RawMessage `json:"image_url"`
	InputAudio *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
		FileID   string `json:"file_id"`
	} `json:"file"`
	Detail string          `json:"detail"`
	Title  string          `json:"title"`
	Value  json.RawMessage `json:"value"`
}

type extras struct {
	Signature string `json:"signature"`
	Filename  string `json:"filename"`
	Name      string `json:"name"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
	FileID    string `json:"file_id"`
}

func part(raw json.RawMessage) (Part, error) {
	var b block
	if err := json.Unmarshal(raw, &b); err != nil {
		var kind struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &kind) == nil {
			return Part{Kind: Other, Type: kind.Type}, nil // of a form of its own
		}
		return Part{}, fmt.Errorf("not an object")
	}
	p := Part{
		Type: b.Type, URL: b.URL, Data: b.Data, MIME: first(b.MIME, b.MIMECamel), FileID: first(b.FileID, b.FileCamel),
		Name: first(b.Name, b.Filename, b.Extras.Filename, b.Extras.Name, b.Title), Detail: b.Detail,
	}
	switch b.Type {
	case "text", "input_text", "output_text":
		return Part{Kind: Text, Type: b.Type, Text: b.Text}, nil
	case "text-plain":
		if b.Text != "" {
			return Part{Kind: Text, Type: b.Type, Text: b.Text}, nil
		}
		p.Kind, p.MIME = File, first(p.MIME, "text/plain")
	case "reasoning":
		return Part{Kind: Reasoning, Type: b.Type, Text: b.Reasoning, Signature: first(b.Signature, b.Extras.Signature)}, nil
	case "thinking":
		var text string
		_ = json.Unmarshal(b.Thinking, &text)
		return Part{Kind: Reasoning, Type: b.Type, Text: text, Signature: b.Signature}, nil
	case "redacted_thinking":
		return Part{Kind: Reasoning, Type: b.Type, Redacted: b.Data}, nil
	case "non_standard":
		if len(b.Value) > 0 {
			return part(b.Value)
		}
		return Part{Kind: Other, Type: b.Type}, nil
	case "tool_call", "tool_use", "tool_call_chunk", "invalid_tool_call", "function_call":
		return Part{Kind: ToolCall, Type: b.Type}, nil
	case "image_url":
		p.Kind = Image
		var object struct{ URL, Detail string }
		if json.Unmarshal(b.ImageURL, &p.URL) != nil && json.Unmarshal(b.ImageURL, &object) == nil {
			p.URL, p.Detail = object.URL, first(object.Detail, p.Detail)
		}
	case "image", "audio", "video", "file":
		p.Kind = Kind(b.Type)
	case "document":
		p.Kind = File
	case "input_audio":
		p.Kind = Audio
	default:
		return Part{Kind: Other, Type: b.Type}, nil
	}
	b.nested(&p)
	if b.SourceType == "id" {
		p.FileID = first(p.FileID, b.ID)
	}
	if b.SourceType == "text" || b.Source != nil && b.Source.Type == "text" {
		return Part{Kind: Text, Type: b.Type, Text: first(b.Text, p.Data)}, nil
	}
	return p.located()
}

// nested reads what a form keeps in an object of its own.
func (b *block) nested(p *Part) {
	if s := b.Source; s != nil {
		p.URL, p.Data, p.FileID, p.MIME = first(s.URL, p.URL), first(s.Data, p.Data), first(s.FileID, p.FileID), first(s.MediaType, p.MIME)
	}
	if a := b.InputAudio; a != nil {
		p.Data, p.MIME = a.Data, "audio/"+first(a.Format, "wav")
	}
	if f := b.File; f != nil {
		p.Name, p.FileID, p.URL = first(f.Filename, p.Name), first(f.FileID, p.FileID), first(f.FileData, p.URL)
	}
}

// located checks that a medium is somewhere and takes data out of a data: URL.
func (p Part) located() (Part, error) {
	if rest, ok := strings.CutPrefix(p.URL, "data:"); ok {
		head, data, found := strings.Cut(rest, ",")
		kind, encoded := strings.CutSuffix(head, ";base64")
		if !found {
			return p, fmt.Errorf("the data: URL of a block of type %q has no data", p.Type)
		}
		if !encoded {
			data = base64.StdEncoding.EncodeToString([]byte(data))
		}
		mime, _, _ := strings.Cut(kind, ";")
		p.URL, p.Data, p.MIME = "", data, first(mime, p.MIME)
	}
	if p.URL == "" && p.Data == "" && p.FileID == "" {
		return p, fmt.Errorf("the block of type %q has neither url nor data nor file id", p.Type)
	}
	if p.Data != "" && p.MIME == "" {
		p.MIME = map[Kind]string{Image: "image/png", Audio: "audio/wav", Video: "video/mp4", File: "application/pdf"}[p.Kind]
	}
	return p, nil
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
