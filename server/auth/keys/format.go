// Package keys holds API keys: their form, how they are made, and how requests
// are checked against the store's with little reading.
package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math/big"
	"strings"
)

// A key is pk_<id>_<secret>: an id of 12 letters and digits in lower case, and a
// secret of 49 letters and digits, which are 256 random bits and a checksum over all
// that stands before it. The pattern for secret scanners is pk_[a-z0-9]{12}_[A-Za-z0-9]{49}.
const (
	prefix      = "pk_"
	idLength    = 12
	randomPart  = 43 // base62 of 256 bits
	sumPart     = 6  // base62 of 32 bits
	secretSize  = randomPart + sumPart
	keyLength   = len(prefix) + idLength + 1 + secretSize
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base36      = "0123456789abcdefghijklmnopqrstuvwxyz"
	randomBytes = 32
)

// ErrFormat says that a text is no API key.
var ErrFormat = errors.New("keys: not an API key: want pk_<id>_<secret>, unabridged")

// Presented is an API key as a caller shows it.
type Presented struct {
	// ID is public: it names the key in lists and in the audit log.
	ID     string
	secret string
}

// New makes a key; text is what its holder gets, once.
func New() (p Presented, text string) {
	id := make([]byte, idLength)
	for i := range id {
		id[i] = base36[number(int64(len(base36)))]
	}
	random := make([]byte, randomBytes)
	if _, err := rand.Read(random); err != nil { // crypto/rand never fails since Go 1.24
		panic(err)
	}
	head := prefix + string(id) + "_" + encode(new(big.Int).SetBytes(random), randomPart)
	text = head + checksum(head)
	return Presented{ID: string(id), secret: text[len(prefix)+idLength+1:]}, text
}

func number(below int64) int64 {
	n, err := rand.Int(rand.Reader, big.NewInt(below))
	if err != nil {
		panic(err)
	}
	return n.Int64()
}

// Looks reports whether a text is meant to be an API key, and not a token of another kind.
func Looks(text string) bool { return strings.HasPrefix(text, prefix) }

// Parse reads a key. A wrong checksum is ErrFormat, too: mistyped and cut keys cost no look into the store.
func Parse(text string) (Presented, error) {
	if len(text) != keyLength || !Looks(text) {
		return Presented{}, ErrFormat
	}
	id, secret, ok := strings.Cut(text[len(prefix):], "_")
	if !ok || len(id) != idLength || !made(id, base36) || !made(secret, base62) {
		return Presented{}, ErrFormat
	}
	head, sum := text[:keyLength-sumPart], text[keyLength-sumPart:]
	if checksum(head) != sum {
		return Presented{}, ErrFormat
	}
	return Presented{ID: id, secret: secret}, nil
}

// made reports whether a text has no letters but those of an alphabet.
func made(text, alphabet string) bool {
	for i := range len(text) {
		if strings.IndexByte(alphabet, text[i]) < 0 {
			return false
		}
	}
	return true
}

// Hash is what a store keeps of the key: the SHA-256 of its secret, in hex. The
// secret has 256 random bits, so that nothing slower is needed.
func (p Presented) Hash() string {
	sum := sha256.Sum256([]byte(p.secret))
	return hex.EncodeToString(sum[:])
}

// Matches compares the key with a stored hash, in constant time.
func (p Presented) Matches(hash string) bool {
	return p.secret != "" && subtle.ConstantTimeCompare([]byte(p.Hash()), []byte(hash)) == 1
}

// String hides the secret, whatever prints the key.
func (p Presented) String() string { return prefix + p.ID + "_…" }

// GoString hides the secret from %#v, too.
func (p Presented) GoString() string { return p.String() }

func checksum(head string) string {
	return encode(new(big.Int).SetUint64(uint64(crc32.ChecksumIEEE([]byte(head)))), sumPart)
}

// encode writes a number in base 62, with leading zeros up to a length.
func encode(n *big.Int, length int) string {
	out := make([]byte, length)
	base, digit := big.NewInt(int64(len(base62))), new(big.Int)
	for i := length - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}
