package tool

// Annotations say what a tool does to the world. They are what the tool's author says,
// in the words of the Model Context Protocol: a default for review, no protection.
type Annotations struct {
	// Title is the tool's name for people; "" for none.
	Title string
	// ReadOnly tools change nothing.
	ReadOnly bool
	// Destructive says whether a tool that isn't ReadOnly may destroy or overwrite what
	// is there; nil where nobody has said so.
	Destructive *bool
	// Idempotent tools have no further effect when they are called again with the same arguments.
	Idempotent bool
	// OpenWorld says whether the tool reaches beyond a closed system, as a web search does; nil where nobody has said so.
	OpenWorld *bool
}

// Annotated is a Tool with Annotations.
type Annotated interface{ Annotations() Annotations }

// AnnotationsOf are the annotations of a tool; the zero value for one that has none.
func AnnotationsOf(t Tool) Annotations {
	if a, ok := t.(Annotated); ok {
		return a.Annotations()
	}
	return Annotations{}
}

// Direct is a Tool that can say that its result ends the agent's turn; see ReturnDirect.
type Direct interface{ ReturnsDirect() bool }

// ReturnsDirect reports whether a tool's result ends the agent's turn.
func ReturnsDirect(t Tool) bool {
	d, ok := t.(Direct)
	return ok && d.ReturnsDirect()
}
