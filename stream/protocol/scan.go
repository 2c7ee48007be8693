package protocol

import "iter"

// member is a key of a JSON object, in its quotes, with its value.
type member struct{ key, value []byte }

// members yields the members of a valid JSON object in order.
func members(object []byte) iter.Seq[member] {
	return func(yield func(member) bool) {
		for i := space(object, 1); i < len(object) && object[i] == '"'; {
			end := value(object, i)
			from := space(object, space(object, end)+1)
			to := value(object, from)
			if !yield(member{object[i:end], object[from:to]}) {
				return
			}
			i = next(object, to)
		}
	}
}

// elements yields the elements of a valid JSON array in order.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := space(array, 1); i < len(array) && array[i] != ']'; {
			end := value(array, i)
			if !yield(array[i:end]) {
				return
			}
			i = next(array, end)
		}
	}
}

// next is where the element behind a comma starts; else where the closing bracket stands.
func next(b []byte, i int) int {
	i = space(b, i)
	if i < len(b) && b[i] == ',' {
		i = space(b, i+1)
	}
	return i
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// value is where the value that starts at i ends.
func value(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if i = min(i+1, len(b)); depth == 0 {
				return i
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i // behind a number or word
			}
			depth--
			if i++; depth == 0 {
				return i
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return i
			}
			i++
		default:
			i++
		}
	}
	return len(b)
}
