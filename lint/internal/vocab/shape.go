package vocab

import "go/types"

// A Shape describes a field of a result by which a call reports that it has failed: an error, or
// a number. Pkg, Type and Field are regular expressions, as in a [Row].
type Shape struct {
	Pkg, Type, Field string
	Failed, Passed   int64 // of a number: what it is after a failure, and after a success
	Evidence         Evidence
}

// Shapes are the fields that report failures. The first that describes a field decides.
var Shapes = []Shape{
	{"net/http", "Response", "StatusCode", 503, 200, Library},
	{"gorm.io/gorm", "DB", "Error", 0, 0, Library},
	{".*", ".*Response|.*Result|.*Reply", "StatusCode|HTTPStatusCode", 503, 200, Named},
	{".*", ".*", "Err|Error|err", 0, 0, Named},
}

// ShapeOf returns the field of a type of results that reports failures, or nil.
func ShapeOf(t types.Type) (*types.Var, Shape) {
	elem := t.Underlying()
	if p, ok := elem.(*types.Pointer); ok {
		elem = p.Elem().Underlying()
	}
	s, ok := elem.(*types.Struct)
	name := TypeName(t)
	if !ok || name == nil || name.Pkg() == nil {
		return nil, Shape{}
	}
	for f := range s.Fields() {
		b, basic := f.Type().Underlying().(*types.Basic)
		isNumber := basic && b.Info()&types.IsInteger != 0
		isError := types.Identical(f.Type(), types.Universe.Lookup("error").Type())
		for _, shape := range shapes.all(Name{name.Pkg().Path(), name.Name(), f.Name()}) {
			if isNumber && shape.Failed != 0 || isError && shape.Failed == 0 {
				return f.Origin(), *shape
			}
		}
	}
	return nil, Shape{}
}

var shapes = index[Shape]{rows: Shapes, pattern: func(s Shape) Name { return Name{s.Pkg, s.Type, s.Field} }}
