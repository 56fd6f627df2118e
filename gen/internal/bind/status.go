package bind

import "go/types"

// A Status is the HTTP status in a result, as in the responses of resty and sendgrid. A
// function with such a result usually does not return an error if the status means one.
type Status struct {
	Type   string // the type of the result
	Member string // suffix of an expression with the status, such as .StatusCode(); "" if there is only IsError()
	Param  string // the parameter that is filled with the response, as in fasthttp; "" if the status is in a result
}

// filledStatus returns the status of the parameter that a function fills with a response, or
// nil. Such a parameter has a method that sets the status.
func filledStatus(sig *types.Signature) *Status {
	for v := range sig.Params().Variables() {
		read, set := methodOf(v.Type(), "StatusCode"), methodOf(v.Type(), "SetStatusCode")
		if read != nil && returns(read, types.Int) && set != nil && set.Params().Len() == 1 && set.Results().Len() == 0 {
			return &Status{Type: plain(v.Type()), Member: ".StatusCode()", Param: describe(v, nil)}
		}
	}
	return nil
}

// statusOf returns the status of a result, or nil. A status that is promoted from an embedded
// *http.Response does not count, because such a response is usually kept after its status was
// checked. An *http.Response itself is not a Status.
func statusOf(result Param) *Status {
	t := addressed(result.typ)
	if isResponse(t) || types.Implements(t, errorType) {
		return nil
	}
	s := &Status{Type: typeTexts([]Param{result})[0]}
	switch obj, _, _ := types.LookupFieldOrMethod(t, false, nil, "StatusCode"); obj := obj.(type) {
	case *types.Var:
		if obj.Pkg().Path() != "net/http" && types.Identical(obj.Type(), types.Typ[types.Int]) {
			s.Member = ".StatusCode"
		}
	case *types.Func:
		if returns(obj.Signature(), types.Int) {
			s.Member = ".StatusCode()"
		}
	}
	if sig := methodOf(t, "IsError"); s.Member != "" || sig != nil && returns(sig, types.Bool) {
		return s
	}
	return nil
}

// returns reports whether a method has no parameters and one result of a basic type.
func returns(sig *types.Signature, kind types.BasicKind) bool {
	return sig.Params().Len() == 0 && sig.Results().Len() == 1 &&
		types.Identical(sig.Results().At(0).Type(), types.Typ[kind])
}
