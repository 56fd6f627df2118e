package emit

import (
	"reflect"
	"time"

	"github.com/dave/jennifer/jen"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/job"
)

// given contains the code for fields of a struct, by name, that are not emitted from their
// values. A field whose code is nil is omitted.
type given map[string]jen.Code

// fieldsOf emits the fields of a struct that are not zero, in the order of their declarations:
//
//	MaxElapsed: time.Minute, Nested: true
//
// The strategy is emitted even if it is the default, because it gives meaning to the fields
// after it. The structs are plain data of the runtime: a new field there needs no change here
// unless its type is new.
func fieldsOf(v reflect.Value, in given) (list []jen.Code) {
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		code, isGiven := in[name]
		if !isGiven && (!field.IsZero() || field.Type() == reflect.TypeFor[retry.Backoff]()) {
			code = valueOf(field)
		}
		if code != nil {
			list = append(list, jen.Id(name).Op(":").Add(code))
		}
	}
	return list
}

// valueOf emits the value of a field, as a constant of the runtime if there is one.
func valueOf(v reflect.Value) jen.Code {
	switch x := v.Interface().(type) {
	case time.Duration:
		return durationExpr(x)
	case retry.Class:
		return class(x)
	case retry.Backoff:
		return jen.Qual(RuntimePath, backoffNames[x])
	case retry.MatchText:
		return jen.Qual(RuntimePath, matchTextNames[x])
	case retry.Jitter:
		return jen.Qual(RuntimePath, jitterNames[x])
	case genapi.Recording:
		return jen.Qual(StepAPIPath, recordingNames[x])
	case genapi.OnLost:
		return jen.Qual(StepAPIPath, onLostNames[x])
	case genapi.OnExhausted:
		return jen.Qual(StepAPIPath, onExhaustedNames[x])
	case genapi.OnChanged:
		return jen.Qual(StepAPIPath, onChangedNames[x])
	case job.Late:
		return jen.Qual(JobPath, lateNames[x])
	case job.FailureAction:
		return jen.Qual(JobPath, failureActionNames[x])
	case job.Collect:
		if x == job.CollectFirst {
			return jen.Qual(JobPath, "CollectFirst")
		}
		return jen.Lit(int(x))
	case int:
		if x == job.NoRetries {
			return jen.Qual(JobPath, "NoRetries")
		}
		if x == retry.Unlimited {
			return jen.Qual(RuntimePath, "Unlimited")
		}
	case float64:
		if x == budget.NoRefill {
			return jen.Qual(BudgetPath, "NoRefill")
		}
	}
	switch t := v.Type(); t.Kind() {
	case reflect.Struct:
		if t.NumField() <= short {
			return oneLine(v)
		}
		return jen.Qual(t.PkgPath(), t.Name()).Custom(multiline, fieldsOf(v, nil)...)
	case reflect.Pointer:
		return jen.Op("&").Add(oneLine(v.Elem()))
	case reflect.Slice:
		return sliceOf(v)
	}
	return jen.Lit(v.Interface())
}

// short is the maximum number of fields of a struct, such as retry.RetryAfter,
// whose literal is one line.
const short = 3

// oneLine emits a struct on one line.
func oneLine(v reflect.Value) jen.Code {
	return jen.Qual(v.Type().PkgPath(), v.Type().Name()).Values(fieldsOf(v, nil)...)
}

// sliceOf emits a slice. Structs are on separate lines, and other values are on one line.
func sliceOf(v reflect.Value) jen.Code {
	elem := v.Type().Elem()
	literal := jen.Index()
	if elem.PkgPath() == "" {
		literal.Id(elem.Name())
	} else {
		literal.Qual(elem.PkgPath(), elem.Name())
	}
	var items []jen.Code
	for i := range v.Len() {
		if elem.Kind() == reflect.Struct {
			items = append(items, jen.Custom(multiline, fieldsOf(v.Index(i), nil)...))
		} else {
			items = append(items, valueOf(v.Index(i)))
		}
	}
	if elem.Kind() == reflect.Struct {
		return literal.Custom(multiline, items...)
	}
	return literal.Values(items...)
}

var (
	backoffNames = [...]string{
		"BackoffExponential", "BackoffFixed", "BackoffLinear", "BackoffFibonacci", "BackoffCustom",
	}
	jitterNames = [...]string{
		"JitterNone", "JitterProportional", "JitterFull", "JitterEqual", "JitterDecorrelated", "JitterAdditive",
	}
	matchTextNames     = [...]string{"MatchWords", "MatchStatus", "MatchNone"}
	lateNames          = [...]string{"LateLog", "LateUpdate"}
	failureActionNames = [...]string{"FailureSkip", "FailureDeadLetter", "FailureStop"}
	recordingNames     = [...]string{"RecordAttempts", "RecordFailures"}
	onLostNames        = [...]string{"OnLostDefault", "OnLostRetry", "OnLostFail", "OnLostPause"}
	onExhaustedNames   = [...]string{"ExhaustedFail", "ExhaustedEscalate", "ExhaustedDeadLetter", "ExhaustedPause"}
	onChangedNames     = [...]string{"ChangedFail", "ChangedReport"}
	classNames         = map[retry.Class]string{
		retry.ClassNetwork: "ClassNetwork", retry.ClassTimeout: "ClassTimeout",
		retry.ClassServerError: "ClassServerError", retry.ClassRateLimit: "ClassRateLimit",
		retry.ClassCanceled: "ClassCanceled", retry.ClassBreakerOpen: "ClassBreakerOpen",
		retry.ClassLimited: "ClassLimited", retry.ClassRateLimited: "ClassRateLimited",
		retry.ClassThrottled: "ClassThrottled",
		retry.ClassTransient: "ClassTransient", retry.ClassUnknown: "ClassUnknown",
		retry.ClassAny: "ClassAny",
	}
)

// class emits the name of an error class.
func class(c retry.Class) jen.Code {
	if name, ok := classNames[c]; ok {
		return jen.Qual(RuntimePath, name)
	}
	return jen.Lit(string(c))
}

// durationExpr emits d in the largest unit that divides it, such as 250 * time.Millisecond.
func durationExpr(d time.Duration) jen.Code {
	if d == retry.None {
		return jen.Qual(RuntimePath, "None")
	}
	units := []struct {
		size time.Duration
		name string
	}{
		{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"},
		{time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"},
	}
	for _, u := range units {
		switch {
		case d == u.size:
			return jen.Qual("time", u.name)
		case d > u.size && d%u.size == 0:
			return jen.Lit(int(d/u.size)).Op("*").Qual("time", u.name)
		}
	}
	return jen.Lit(int(d))
}
