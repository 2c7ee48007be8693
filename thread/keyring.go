package thread

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Keyring seals what invocations bring for their agents' eyes only (Invocation.SealedContext), with AES-256-GCM:
// the first key seals, any of them opens. A new key goes to every process as the last one, then to the front.
type Keyring struct{ keys []sealingKey }

type sealingKey struct {
	id   [sealingID]byte
	aead cipher.AEAD
}

const (
	// KeyBytes is the size of a key.
	KeyBytes = 32
	// sealingID is how many bytes of a key's digest name it in what it has sealed.
	sealingID = 4
	// sealingVersion is the first byte of what is sealed.
	sealingVersion = 1
)

// NewKeyring returns a keyring of keys of KeyBytes each, at least one.
func NewKeyring(keys ...[]byte) (*Keyring, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key")
	}
	k := &Keyring{}
	for i, key := range keys {
		if len(key) != KeyBytes {
			return nil, fmt.Errorf("key %d has %d bytes, want %d", i+1, len(key), KeyBytes)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		own := sealingKey{aead: aead}
		sum := sha256.Sum256(append([]byte("parley sealed context key\n"), key...))
		copy(own.id[:], sum[:])
		if slices.ContainsFunc(k.keys, func(o sealingKey) bool { return o.id == own.id }) {
			return nil, fmt.Errorf("key %d is there twice", i+1)
		}
		k.keys = append(k.keys, own)
	}
	return k, nil
}

// ParseKeyring reads keys in base64 or hex, one a line or separated by commas; what follows a # is a comment.
// Errors never quote a key.
func ParseKeyring(text string) (*Keyring, error) {
	var keys [][]byte
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
			key, err := hex.DecodeString(word)
			if err != nil {
				key, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(word), "="))
			}
			if err != nil {
				return nil, fmt.Errorf("key %d is neither base64 nor hex", len(keys)+1)
			}
			keys = append(keys, key)
		}
	}
	return NewKeyring(keys...)
}

// seal seals a text about something; it opens for the same thing only.
func (k *Keyring) seal(plain, about []byte) []byte {
	first := k.keys[0]
	head := append([]byte{sealingVersion}, first.id[:]...)
	return first.aead.Seal(head, nil, plain, about)
}

// open undoes seal. A nil keyring opens nothing. Errors: *SealedContextError.
func (k *Keyring) open(sealed, about []byte) ([]byte, error) {
	if len(sealed) < 1+sealingID || sealed[0] != sealingVersion {
		return nil, &SealedContextError{Reason: "it has another form"}
	}
	id := sealed[1 : 1+sealingID]
	if k != nil {
		for _, key := range k.keys {
			if !bytes.Equal(key.id[:], id) {
				continue
			}
			plain, err := key.aead.Open(nil, nil, sealed[1+sealingID:], about)
			if err != nil {
				return nil, &SealedContextError{Reason: "it was changed, or is another execution's"}
			}
			return plain, nil
		}
	}
	return nil, &SealedContextError{Reason: "this server doesn't have the key " + hex.EncodeToString(id) + ", with which it was sealed"}
}

// SealedContextError says that what an invocation brought sealed can't be opened. Nothing was answered.
type SealedContextError struct{ Reason string }

func (e *SealedContextError) Error() string {
	return "the execution's sealed context can't be opened: " + e.Reason
}
