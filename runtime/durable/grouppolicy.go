package durable

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/retrygen/retrygen/runtime/job"
)

// groupChanges returns the changes to the policy of a group, such as "max_failures 3 → 5", with
// the names that are used in policy files.
func groupChanges(before, now *job.GroupPolicy) (list []string) {
	a, b := reflect.ValueOf(*before), reflect.ValueOf(*now)
	for i := range a.NumField() {
		from, to := settingText(a.Field(i)), settingText(b.Field(i))
		if from != to {
			list = append(list, settingName(a.Type().Field(i).Name)+" "+from+" → "+to)
		}
	}
	return list
}

// settingText returns the value of a policy field as text.
func settingText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "none"
		}
		return settingText(v.Elem())
	case reflect.Struct:
		var list []string
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				list = append(list, settingName(v.Type().Field(i).Name)+" "+settingText(f))
			}
		}
		return "{" + strings.Join(list, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// settingName returns the name of a policy field in policy files.
func settingName(field string) string {
	var name strings.Builder
	for i, c := range field {
		if i > 0 && unicode.IsUpper(c) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(c))
	}
	return name.String()
}
