package tool

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"
)

// schemaOf is the JSON Schema of a type of arguments. Unknown arguments are
// allowed, and dropped. It panics for types that have no JSON form, a mistake in the program.
func schemaOf[A any]() json.RawMessage {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, DoNotReference: true, AllowAdditionalProperties: true}
	s := r.ReflectFromType(reflect.TypeFor[A]())
	s.Version = ""
	if s.Properties == nil {
		s.Properties = jsonschema.NewProperties()
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("tool: schema of %s: %v", reflect.TypeFor[A](), err))
	}
	return raw
}
