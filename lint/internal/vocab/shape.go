package vocab

import "go/types"

// A Shape describes a field of a result that reports the failure of a call. The field is an
// error or a number. Pkg, Type and Field are regular expressions, as in a [Row].
type Shape struct {
	Pkg, Type, Field string
	Failed, Passed   int64 // for a number: its value after a failure, and after a success
	Evidence         Evidence
}

// Shapes lists the fields that report failures. The first row that describes a field applies.
var Shapes = []Shape{
	{"net/http", "Response", "StatusCode", 503, 200, Library},
	{"gorm.io/gorm", "DB", "Error", 0, 0, Library},
	{".*", ".*Response|.*Result|.*Reply", "StatusCode|HTTPStatusCode", 503, 200, Named},
	{".*", ".*", "Err|Error|err", 0, 0, Named},
}

// ShapeOf returns the field of a result type that reports failures, or nil.
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
