package durabletest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// setFields returns the fields of a struct that are set, for messages: a record or a
// query has about twenty, and few of them matter. An empty slice is set, and a nil one is not.
func setFields(v any) string {
	var fields []string
	for field, value := range reflect.ValueOf(v).Fields() {
		if !value.IsZero() {
			fields = append(fields, field.Name+":"+text(value.Interface()))
		}
	}
	return "{" + strings.Join(fields, " ") + "}"
}

func text(v any) string {
	switch v := v.(type) {
	case []byte:
		return fmt.Sprintf("%q", v)
	case []storage.Query:
		texts := make([]string, len(v))
		for i, q := range v {
			texts[i] = setFields(q)
		}
		return fmt.Sprint(texts)
	}
	return fmt.Sprintf("%v", v)
}
