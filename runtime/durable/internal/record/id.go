package record

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
)

// MaxID is the maximum length, in bytes, of the id of a run or a step. Longer ids do not
// fit into database indexes.
const MaxID = 1024

// Escape returns s without the separators in ids and without control characters, as valid
// UTF-8, because stores accept nothing else. Different strings have different results.
func Escape(s string) string {
	clean := func(r rune, size int) bool {
		return r >= ' ' && r != '%' && r != '/' && r != ':' && r != 0x7f && (r != utf8.RuneError || size > 1)
	}
	i := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !clean(r, size) {
			break
		}
		i += size
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if clean(r, size) {
			b.WriteString(s[i : i+size])
		} else {
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		i += size
	}
	return b.String()
}

// FullID returns the id of a step in its run. It consists of the scopes, the name and the id.
func FullID(prefix, name string, id []byte) (string, error) {
	if name == "" {
		return "", fmt.Errorf("%w: the name of the step is empty", fault.ErrID)
	}
	key := prefix + Escape(name) + string(id)
	if len(key) > MaxID {
		return "", fmt.Errorf("%w: the id of step %.40q… has %d bytes: the limit is %d", fault.ErrID, key, len(key), MaxID)
	}
	return key, nil
}

// StepName returns the escaped name of the step with an id that FullID returned.
func StepName(id string) string {
	id = id[strings.LastIndexByte(id, ':')+1:]
	name, _, _ := strings.Cut(id, "/")
	return name
}

// CheckRunID returns an error if no store can keep a run with the given id.
func CheckRunID(id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%w: the id of the run is empty", fault.ErrID)
	case len(id) > MaxID:
		return fmt.Errorf("%w: the id of run %.40q… has %d bytes: the limit is %d", fault.ErrID, id, len(id), MaxID)
	case !utf8.ValidString(id) || strings.ContainsRune(id, 0):
		return fmt.Errorf("%w: the id of run %q is not UTF-8 text", fault.ErrID, id)
	}
	return nil
}

// IdempotencyKey returns the idempotency key of a step. It depends on nothing that changes
// between attempts. generation is the number of keys that admin.Client.Requeue has replaced,
// with admin.NewKey.
func IdempotencyKey(space, run, step string, generation int) string {
	b := make([]byte, 0, 256)
	for _, part := range [...]string{space, run, step} {
		b = strconv.AppendInt(b, int64(len(part)), 10)
		b = append(b, ':')
		b = append(b, part...)
	}
	if generation > 0 {
		b = append(b, '#')
		b = strconv.AppendInt(b, int64(generation), 10)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Token returns a random identifier.
func Token(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never returns an error
	return hex.EncodeToString(b)
}

// ScopeIn returns the prefix of the ids of steps in a scope. The argument prefix is that of the
// enclosing scopes.
func ScopeIn(prefix, name string) string { return prefix + Escape(name) + ":" }

// A RunKey is the key of the run in a context.
type RunKey struct{}
