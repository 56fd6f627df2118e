package bind

import (
	"go/types"
	"slices"
	"strings"
	"unicode"
)

// writes returns what shows that a function writes: "its name", or "its result" if a result has
// the number of affected rows. Otherwise it returns "".
func writes(obj *types.Func) string {
	if namesWrite(obj.Name()) {
		return "its name"
	}
	for v := range obj.Signature().Results().Variables() {
		if methodOf(v.Type(), "RowsAffected") != nil {
			return "its result"
		}
	}
	return ""
}

// namesWrite reports whether a name suggests a function that writes, such as LPush,
// XGroupCreate or PostOrder. A name that begins like a read, such as GetUpdates, suggests a
// write only if it ends with one, as in GetDel, or contains one after And or Or, as in
// FindOneAndUpdate and GetOrCreate.
func namesWrite(name string) bool {
	list := words(name)
	for len(list) > 1 && isPrefix(list[0]) {
		list = list[1:]
	}
	if len(list) == 0 {
		return false
	}
	if !slices.Contains(readWords, strings.ToLower(list[0])) {
		return slices.ContainsFunc(list, func(word string) bool { return slices.Contains(writeWords, strings.ToLower(word)) })
	}
	for i, word := range list[1:] {
		word = strings.ToLower(word)
		joined := list[i] == "And" || list[i] == "Or"
		last := i == len(list)-2
		if joined && slices.Contains(writeWords, word) || last && slices.Contains(readingWrites, word) {
			return true
		}
	}
	return false
}

// Mentions reports whether the words of a name, such as the name of a policy, name reads and
// writes. For example, reads and save-orders each name one of them, and read-write names both.
func Mentions(name string) (reads, writes bool) {
	for _, word := range words(name) {
		word = strings.TrimSuffix(strings.ToLower(word), "s")
		reads = reads || slices.Contains(readWords, word)
		writes = writes || slices.Contains(writeWords, word)
	}
	return reads, writes
}

var (
	readWords = []string{
		"count", "describe", "exist", "fetch", "find", "get", "has", "head", "is", "list", "load", "lookup", "peek", "query",
		"range", "read", "scan", "search", "select", "show", "stat", "view",
	}
	writeWords = []string{
		"ack", "add", "append", "approve", "archive", "attach", "book", "buy", "cancel", "charge", "claim", "clear", "copy",
		"create", "decr", "decrement", "del", "delete", "dequeue", "detach", "drop", "emit", "enqueue", "exec", "expire",
		"flush", "grant", "incr", "increment", "insert", "kill", "merge", "migrate", "move", "nack", "notify", "patch", "pay",
		"persist", "pop", "post", "prepend", "produce", "publish", "push", "put", "refund", "register", "reject", "rem",
		"remove", "rename", "replace", "reserve", "reset", "restart", "restore", "revoke", "save", "send", "set", "shutdown",
		"store", "submit", "swap", "touch", "transfer", "trigger", "trim", "truncate", "unlink", "update", "upload", "upsert",
		"write",
	}
	// readingWrites lists the last words of Redis commands that return a value and change it:
	// GETDEL, GETEX, GETSET, SPOP.
	readingWrites = []string{"clear", "del", "delete", "ex", "pop", "remove", "reset", "set"}
)

// isPrefix reports whether a word is only the type of a Redis command, as in LPush and
// BZPopMax.
func isPrefix(word string) bool { return len(word) <= 2 && strings.ToUpper(word) == word }

// words splits a name that is written in PascalCase, in camelCase or with separators.
func words(name string) (list []string) {
	text := []rune(name)
	start := 0
	cut := func(end int) {
		if end > start {
			list = append(list, string(text[start:end]))
		}
		start = end
	}
	for i, r := range text {
		switch {
		case !unicode.IsLetter(r):
			cut(i)
			start = i + 1
		case i > 0 && unicode.IsUpper(r) && (unicode.IsLower(text[i-1]) || i+1 < len(text) && unicode.IsLower(text[i+1])):
			cut(i)
		}
	}
	cut(len(text))
	return list
}
