package frame

// OpenData appends the start of a frame without an event name; the caller appends the data, a JSON text, and then
// calls CloseData. Of such a frame, Name and Data can't be asked.
func OpenData(dst []byte) []byte { return append(dst, dataField[1:]...) }

// CloseData ends the frame that starts at start with an id, which must have passed CheckField.
func CloseData(dst []byte, start int, id []byte) ([]byte, Frame) {
	OneLine(dst[start+len(dataField)-1:])
	idAt := len(dst) + 1 - start
	dst = append(append(append(dst, idField...), id...), '\n', '\n')
	return dst, Frame{Wire: dst[start:len(dst):len(dst)], idAt: idAt}
}
