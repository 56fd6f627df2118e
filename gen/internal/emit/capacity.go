package emit

import (
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// A Part is something that calls share in addition to breakers and budgets: a limiter, a rate,
// a throttle, or the hedge of one function.
type Part struct {
	Field     string    // the name of its field in Shared: DbLimiter
	Pkg, Type string    // the package and the name of its type
	Settings  any       // the argument of the constructor
	From      *bind.Ref // the variable that holds it, or nil
	Store     bool      // its state is in a store instead of the process
}

// settings emits the argument of the constructor, or nil if there is none.
func (p *Part) settings() jen.Code {
	if p.Settings == nil {
		return nil
	}
	in, v := given{}, reflect.ValueOf(p.Settings)
	if wait := v.FieldByName("MaxWait"); wait.IsValid() && wait.Interface() == capacity.NoWait {
		in["MaxWait"] = jen.Qual(CapacityPath, "NoWait")
	}
	return jen.Qual(p.Pkg, v.Type().Name()).Values(fieldsOf(v, in)...)
}

// constructor returns the name of the function that creates the part.
func (p *Part) constructor() string {
	if p.Store {
		return "NewShared" + p.Type
	}
	return Constructor(p.Pkg, p.Type)
}

// Constructor returns the name of the function that creates a value of a type that calls share.
func Constructor(pkg, typ string) string {
	if pkg == CapacityPath { // this package has several constructors
		return "New" + typ
	}
	return "New"
}

// LimiterField, RateField, ThrottleField and HedgeField return the name of the field of a part
// in Shared. A hedge is named after the function that it is for.
func LimiterField(name string) string  { return camel(name) + "Limiter" }
func RateField(name string) string     { return camel(name) + "Rate" }
func ThrottleField(name string) string { return camel(name) + "Throttle" }
func HedgeField(symbol string) string {
	return camel(strings.ReplaceAll(path.Base(symbol), ".", "_")) + "Hedge"
}

// capacity emits
//
//	// Capacity returns the concurrency limits, rates and throttles, for metrics.
//	func (s *Shared) Capacity() capacity.Set {
//		return capacity.Set{Limiters: []*capacity.Limiter{s.DbLimiter}}
//	}
//
//	// Hedges returns the hedges, for metrics.
//	func (s *Shared) Hedges() []*hedge.Hedge {
//		return []*hedge.Hedge{s.ClientFindHedge}
//	}
func (p printer) capacity(out *jen.File) {
	lists := map[string][]jen.Code{}
	for _, part := range p.file.Parts {
		lists[part.Type] = append(lists[part.Type], jen.Id("s").Dot(part.Field))
	}
	method := func(name string, result, value jen.Code) {
		out.Func().Params(jen.Id("s").Op("*").Id(SharedType)).Id(name).Params().Add(result).Block(jen.Return(value)).Line()
	}
	hedges := jen.Index().Op("*").Qual(HedgePath, "Hedge")
	list := lists["Hedge"]
	if delete(lists, "Hedge"); len(lists) > 0 {
		set := jen.Qual(CapacityPath, "Set")
		var fields []jen.Code
		for _, typ := range slices.Sorted(maps.Keys(lists)) {
			values := jen.Index().Op("*").Qual(CapacityPath, typ).Values(lists[typ]...)
			fields = append(fields, jen.Id(typ+"s").Op(":").Add(values))
		}
		p.comment(out, "Capacity returns the concurrency limits, rates and throttles, for metrics.")
		method("Capacity", set, jen.Add(set).Custom(multiline, fields...))
	}
	if len(list) > 0 {
		p.comment(out, "Hedges returns the hedges, for metrics.")
		method("Hedges", hedges, jen.Add(hedges).Values(list...))
	}
}
