package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// asYAML is JSON in the form in which people read it, members in their order; "" for what is empty. It is written
// here, and not by a YAML library, because a reviewer must see what will run: numbers keep every digit that they
// came with, where a library would make a float of them.
func asYAML(v json.RawMessage) (string, error) {
	if len(v) == 0 {
		return "", nil
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var b strings.Builder
	if err := writeYAML(&b, d, "", "\n"); err != nil {
		return "", fmt.Errorf("show %s: %w", v, err)
	}
	text := strings.TrimPrefix(b.String(), "\n")
	if text = strings.TrimPrefix(text, " "); text == "{}\n" || text == "null\n" {
		return "", nil
	}
	return text, nil
}

// writeYAML writes the next value, which follows a key or a dash: a scalar on the same line, members on
// lines of their own. first is what comes before the first of these.
func writeYAML(b *strings.Builder, d *json.Decoder, indent, first string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		b.WriteString(" " + scalar(token, indent) + "\n")
		return nil
	}
	if !d.More() {
		b.WriteString(map[json.Delim]string{'{': " {}\n", '[': " []\n"}[open])
		_, err := d.Token()
		return err
	}
	for next := first; d.More(); next = "" {
		b.WriteString(next)
		if next != " " {
			b.WriteString(indent)
		}
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			b.WriteString(scalar(key, "") + ":")
			if err := writeYAML(b, d, indent+"  ", "\n"); err != nil {
				return err
			}
			continue
		}
		b.WriteString("-")
		if err := writeYAML(b, d, indent+"  ", " "); err != nil {
			return err
		}
	}
	_, err = d.Token() // the end
	return err
}

// plain are strings that need no quotes, whatever they would be taken for.
var plain = regexp.MustCompile(`^[\pL_/][\pL\pN _/@.,;!?()'+=%$€£*-]*$`)

// lines are texts that can stand as they are: a line that is there, then others, none of which ends in spaces.
var lines = regexp.MustCompile(`^\S([^\n]*\S)?(\n+[^\n]*\S)*\n?$`)

// taken are words that YAML takes for something else.
var taken = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}

// scalar is a value on the line where it begins; with an indent, texts of several lines go on below.
func scalar(v any, indent string) string {
	text, ok := v.(string)
	switch {
	case !ok:
		b, _ := json.Marshal(v) // a number, true, false or null
		return string(b)
	case plain.MatchString(text) && !taken[strings.ToLower(text)] && strings.TrimSpace(text) == text:
		return text
	case indent != "" && strings.Contains(text, "\n") && lines.MatchString(text) && printable(text) == text:
		mark := "|-"
		if strings.HasSuffix(text, "\n") {
			mark = "|"
		}
		return mark + "\n" + indent + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+indent)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return printable(strings.TrimSuffix(b.String(), "\n"))
}
