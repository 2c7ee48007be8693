package tool

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

// SchemaOf is the JSON Schema of a type of arguments, a struct, with the field tags of
// invopop/jsonschema. Unknown arguments are allowed, and dropped. It panics for types whose JSON
// form is no object, a mistake in the program.
func SchemaOf[A any]() json.RawMessage {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, DoNotReference: true, AllowAdditionalProperties: true}
	s := r.ReflectFromType(reflect.TypeFor[A]())
	s.Version = ""
	if s.Type != "object" {
		panic(fmt.Sprintf("tool: arguments of type %s are not a JSON object", reflect.TypeFor[A]()))
	}
	if s.Properties == nil {
		s.Properties = jsonschema.NewProperties()
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("tool: schema of %s: %v", reflect.TypeFor[A](), err))
	}
	return raw
}
