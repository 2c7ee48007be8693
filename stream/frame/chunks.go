package frame

import "sync"

// Sizes of the chunks that frames are made in: they grow, so that a stream with
// few frames holds little.
const (
	firstChunk = 1 << 10
	lastChunk  = 64 << 10
)

// Chunks is the memory that a projection makes its frames in. The zero value is ready.
type Chunks struct {
	lent   []*[lastChunk]byte // to be given back
	filled int                // of lent
}

// chunkPool lends the largest chunks: frames are most of what a streamed run allocates.
var chunkPool = sync.Pool{New: func() any { return new([lastChunk]byte) }}

// maxLent bounds how many lent chunks one projection has. It keeps them until
// Release, also those whose frames are gone.
const maxLent = 8

// Room returns buf, or the start of another chunk if buf has less than size bytes
// left. Frames made before stay in theirs.
func (c *Chunks) Room(buf []byte, size int) []byte {
	if cap(buf)-len(buf) >= size {
		return buf
	}
	next := max(size, min(max(4*cap(buf), firstChunk), lastChunk))
	if next != lastChunk || c.filled == maxLent {
		return make([]byte, 0, next)
	}
	if c.filled == len(c.lent) {
		c.lent = append(c.lent, chunkPool.Get().(*[lastChunk]byte))
	}
	c.filled++
	return c.lent[c.filled-1][:0]
}

// Recycle returns memory for a caller that has done with all frames so far.
func (c *Chunks) Recycle(buf []byte) []byte {
	if len(c.lent) > 0 {
		c.filled = 1
		return c.lent[0][:0]
	}
	return buf[:0]
}

// Release gives the memory of all frames back: none may be used any more.
func (c *Chunks) Release() {
	for _, chunk := range c.lent {
		chunkPool.Put(chunk)
	}
	c.lent, c.filled = nil, 0
}
