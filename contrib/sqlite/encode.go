package sqlite

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// toNanos returns the value of a column for a time: nanoseconds since 1970 UTC, or
// NULL for the zero time.
func toNanos(t time.Time) (any, error) {
	if t.IsZero() {
		return nil, nil
	}
	n := t.UnixNano()
	if !time.Unix(0, n).Equal(t) {
		return nil, fmt.Errorf("the time %v is not between 1678 and 2262: use a time in this range", t)
	}
	return n, nil
}

// orNull returns s, or NULL for an empty string, which partial indexes omit.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// readable returns data as text if it is valid UTF-8 without NUL bytes, so that
// people and the JSON functions of SQLite can read it. Otherwise it returns a BLOB.
func readable(data []byte) any {
	if text := string(data); utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return data
}

// orNone is readable for data that may be nil, which is NULL.
func orNone(data []byte) any {
	if data == nil {
		return nil
	}
	return readable(data)
}

// jsonList returns values as one parameter for json_each.
func jsonList[T int | string](values []T) string {
	text, _ := json.Marshal(values) // never fails for integers and strings
	return string(text)
}

// pageSize returns the most records that a query with this limit returns.
func pageSize(limit int) int {
	if limit <= 0 || limit > storage.MaxPage {
		return storage.MaxPage
	}
	return limit
}
