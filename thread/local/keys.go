package local

import (
	"encoding/hex"
	"unsafe"
)

// Rows that belong to a thread are clustered by it: their integer key is the
// thread's key in the high bits and a number within the thread in the low bits.
// One b-tree then serves as table and as index.
const (
	runBits        = 24 // runs of a thread
	checkpointBits = 28 // checkpoints of a thread, all namespaces
	logBits        = 36 // positions in a thread's log; a crash skips 2^20
	entryBits      = 24 // messages of a list segment
)

// within is the key of number n of thread (or segment) k.
func within(k int64, bits uint, n int64) int64 { return k<<bits | n }

// span is the range of keys of k: first and last.
func span(k int64, bits uint) (first, last int64) { return k << bits, (k+1)<<bits - 1 }

// number is the part of a key that counts within its thread.
func number(key int64, bits uint) int64 { return key & (1<<bits - 1) }

// id is an identifier as it is stored: 16 bytes for a UUID or 32 hex digits
// (told apart by what the column holds), the text itself for anything else.
type id string

// uuidID is the stored form of s, where the column holds UUIDs.
func uuidID(s string) id {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id("t" + s)
	}
	var b [17]byte
	b[0] = 'u'
	j := 1
	for i := 0; i < 36; {
		if s[i] == '-' {
			i++
			continue
		}
		hi, lo := lowerHex(s[i]), lowerHex(s[i+1])
		if hi > 15 || lo > 15 {
			return id("t" + s)
		}
		b[j] = hi<<4 | lo
		i, j = i+2, j+1
	}
	return id(b[:])
}

func lowerHex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

func (v id) isUUID() bool { return v[0] == 'u' }

func (v id) bytes() []byte {
	return unsafe.Slice(unsafe.StringData(string(v[1:])), len(v)-1)
}

// idText is the identifier as clients know it.
func idText(b []byte, isBlob bool) string {
	if !isBlob || len(b) != 16 {
		return string(b)
	}
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
