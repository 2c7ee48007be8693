package form

import "fmt"

// Type is the kind of a field.
type Type string

// The kinds of fields, and the JSON of their values.
const (
	Text     Type = "text"     // a string
	Textarea Type = "textarea" // a string of several lines
	Number   Type = "number"   // a number
	Select   Type = "select"   // the Value of one of Options
	Checkbox Type = "checkbox" // true or false
	// Currency is an amount: a number in units of Currency, of at most two decimals.
	Currency Type = "currency"
	Date     Type = "date" // a string, YYYY-MM-DD
)

// Field is one value of a form.
type Field struct {
	// Name is the key of the value, unique in the form; required.
	Name  string `json:"name"`
	Label string `json:"label"`
	Type  Type   `json:"type"`
	// Help stands below the field; may be "".
	Help string `json:"help,omitempty"`
	// Required fields have to be given if the form is approved; a text may not be empty then.
	Required bool `json:"required,omitempty"`
	// Default is what the form shows at first, and the value where none is sent; nil for none.
	Default any `json:"default,omitempty"`
	// Options are those of a Select.
	Options []Option `json:"options,omitempty"`
	// Currency is the ISO 4217 code of a Currency field.
	Currency string `json:"currency,omitempty"`
	// Min and Max bound a Number and a Currency; nil for none.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// MaxLength bounds a Text and a Textarea, in characters; 0 for none.
	MaxLength int `json:"maxLength,omitempty"`
}

// Option is one choice of a Select.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// schema describes the values of the field, as a JSON Schema.
func (f Field) schema() (map[string]any, error) {
	s := map[string]any{"title": f.Label}
	switch f.Type {
	case Text, Textarea:
		s["type"] = "string"
		if f.Required {
			s["minLength"] = 1
		}
		if f.MaxLength > 0 {
			s["maxLength"] = f.MaxLength
		}
	case Number, Currency:
		s["type"] = "number"
		if f.Min != nil {
			s["minimum"] = *f.Min
		}
		if f.Max != nil {
			s["maximum"] = *f.Max
		}
		if f.Type == Currency {
			if len(f.Currency) != 3 {
				return nil, fmt.Errorf("field %q needs the code of its currency", f.Name)
			}
			s["multipleOf"] = 0.01
		}
	case Select:
		if len(f.Options) == 0 {
			return nil, fmt.Errorf("field %q has no options", f.Name)
		}
		values := make([]string, len(f.Options))
		for i, o := range f.Options {
			values[i] = o.Value
		}
		s["enum"] = values
	case Checkbox:
		s["type"] = "boolean"
	case Date:
		s["type"], s["pattern"] = "string", `^\d{4}-\d{2}-\d{2}$`
	default:
		return nil, fmt.Errorf("field %q has no known type: %q", f.Name, f.Type)
	}
	return s, nil
}
