package anthropic

import (
	"encoding/base64"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/parley-dev/parley/agent/model/internal/prompt"
)

// userBlocks are the content blocks of a user's message or a tool's result.
func userBlocks(i int, parts []prompt.Part) ([]sdk.ContentBlockParamUnion, error) {
	var blocks []sdk.ContentBlockParamUnion
	for _, p := range parts {
		switch p.Kind {
		case prompt.Text:
			if !blank(p.Text) {
				blocks = append(blocks, sdk.NewTextBlock(p.Text))
			}
		case prompt.Image:
			blocks = append(blocks, image(p))
		case prompt.File:
			b, err := document(i, p)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, b)
		default:
			return nil, refuse(i, "a block of type %q (%s)", p.Type, p.Kind)
		}
	}
	return blocks, nil
}

func image(p prompt.Part) sdk.ContentBlockParamUnion {
	switch {
	case p.FileID != "":
		return sdk.NewImageBlock(sdk.FileImageSourceParam{FileID: p.FileID})
	case p.Data != "":
		return sdk.NewImageBlockBase64(p.MIME, p.Data)
	}
	return sdk.NewImageBlock(sdk.URLImageSourceParam{URL: p.URL})
}

// document is a PDF or a text.
func document(i int, p prompt.Part) (sdk.ContentBlockParamUnion, error) {
	var b sdk.ContentBlockParamUnion
	switch {
	case p.FileID != "":
		b = sdk.NewDocumentBlock(sdk.FileDocumentSourceParam{FileID: p.FileID})
	case p.URL != "":
		b = sdk.NewDocumentBlock(sdk.URLPDFSourceParam{URL: p.URL})
	case p.MIME == "application/pdf":
		b = sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: p.Data})
	case strings.HasPrefix(p.MIME, "text/"), p.MIME == "application/json":
		text, err := base64.StdEncoding.DecodeString(p.Data)
		if err != nil {
			return b, refuse(i, "a block of type %q whose data aren't base64", p.Type)
		}
		b = sdk.NewDocumentBlock(sdk.PlainTextSourceParam{Data: string(text)})
	default:
		return b, refuse(i, "a block of type %q with %s; files must be PDF or text", p.Type, p.MIME)
	}
	if p.Name != "" {
		b.OfDocument.Title = sdk.String(p.Name)
	}
	return b, nil
}
