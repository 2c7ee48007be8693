package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/parley-dev/parley/agent/model/internal/prompt"
)

// user adds a user's message: a text, or a list of parts.
func (r *request) user(out sdk.ChatCompletionMessage, parts []prompt.Part, i int) error {
	plain := true
	for _, p := range parts {
		plain = plain && p.Kind == prompt.Text
	}
	if plain {
		for _, p := range parts {
			out.Content = joined(out.Content, p.Text)
		}
		r.Messages = append(r.Messages, out)
		if out.Content == "" { // which the SDK leaves out
			r.patches = append(r.patches, patch{len(r.Messages) - 1, "content", json.RawMessage(`""`)})
		}
		return nil
	}
	content := make([]any, 0, len(parts))
	for _, p := range parts {
		part, err := r.part(p, i)
		if err != nil {
			return err
		}
		content = append(content, part)
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	r.Messages = append(r.Messages, out)
	// The SDK's parts are texts and images only.
	r.patches = append(r.patches, patch{len(r.Messages) - 1, "content", raw})
	return nil
}

type audioPart struct {
	Type       string `json:"type"`
	InputAudio struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
}

type filePart struct {
	Type string `json:"type"`
	File struct {
		Filename string `json:"filename,omitempty"`
		FileData string `json:"file_data,omitempty"`
		FileID   string `json:"file_id,omitempty"`
	} `json:"file"`
}

// part is a content part on the wire.
func (r *request) part(p prompt.Part, i int) (any, error) {
	switch p.Kind {
	case prompt.Text:
		return sdk.ChatMessagePart{Type: sdk.ChatMessagePartTypeText, Text: p.Text}, nil
	case prompt.Image:
		if p.FileID != "" {
			return nil, r.refuse(i, "a block of type %q by file id; images need a URL or data", p.Type)
		}
		return sdk.ChatMessagePart{
			Type:     sdk.ChatMessagePartTypeImageURL,
			ImageURL: &sdk.ChatMessageImageURL{URL: address(p), Detail: sdk.ImageURLDetail(p.Detail)},
		}, nil
	case prompt.Audio:
		if p.Data == "" {
			return nil, r.refuse(i, "a block of type %q without data; sound can't be sent by URL or file id", p.Type)
		}
		part := audioPart{Type: "input_audio"}
		part.InputAudio.Data, part.InputAudio.Format = p.Data, format(p.MIME)
		return part, nil
	case prompt.File:
		part := filePart{Type: "file"}
		switch {
		case p.FileID != "":
			part.File.FileID = p.FileID
		case p.Data != "":
			part.File.FileData, part.File.Filename = address(p), p.Name
			if p.Name == "" { // demanded with data
				part.File.Filename = "file." + format(p.MIME)
			}
		default:
			return nil, r.refuse(i, "a block of type %q by URL; files need data or a file id", p.Type)
		}
		return part, nil
	}
	return nil, r.refuse(i, "a block of type %q (%s)", p.Type, p.Kind)
}

// address is a medium's URL; data become a data: URL.
func address(p prompt.Part) string {
	if p.Data != "" {
		return "data:" + p.MIME + ";base64," + p.Data
	}
	return p.URL
}

// format is the short name of a media type.
func format(mime string) string {
	_, name, _ := strings.Cut(mime, "/")
	switch name {
	case "mpeg":
		return "mp3"
	case "x-wav", "wave", "vnd.wave":
		return "wav"
	case "plain":
		return "txt"
	}
	return strings.TrimPrefix(name, "x-")
}

// joined puts two texts of separate blocks under each other.
func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// trimError cuts off what would make "Error: Error: …".
func trimError(text string) string { return strings.TrimPrefix(text, "Error: ") }

// participant is a name as the wire takes it; one that doesn't fit is left out.
func participant(name string) string {
	if len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune(`<|\/>`, r)
	}) {
		return ""
	}
	return name
}
