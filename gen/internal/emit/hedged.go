package emit

import "github.com/dave/jennifer/jen"

// hedged emits a loop whose attempts make a second request if the first one takes long:
//
//	for err = call.Admit(ctx); err == nil; err = call.Next(ctx, err) {
//		var race struct {
//			retry.Race
//			user *User
//		}
//		first := call.Race(ctx, &race.Race, DefaultShared.ClientFindHedge, func() {
//			race.Again(func(ctx context.Context) (err error) {
//				race.user, err = c.Find(ctx, id)
//				return err
//			})
//		})
//		user, err = c.Find(first, id)
//		if call.Settle(ctx, err) == hedge.Second {
//			user, err = race.user, nil
//		}
//		if err == nil {
//			call.Succeed()
//			return user, nil
//		}
//	}
//	return user, err
//
// If the binding names a function for it, an unused result of the second request is released:
//
//	race.Release = func() { closeRows(race.rows) }
//
// The first request has no unused result: the second one wins only if the first has failed.
func (b body) hedged() []jen.Code {
	race := jen.Id(b.l.race)
	fields := []jen.Code{jen.Qual(RuntimePath, "Race")}
	var own, others []jen.Code // the results of the two requests
	for i, name := range b.l.results[:len(b.l.results)-1] {
		field := name
		if name == "Race" || name == "Again" || name == "Release" {
			field = "V" + name
		}
		fields = append(fields, jen.Id(field).Add(b.types[i]))
		own, others = append(own, jen.Id(name)), append(others, race.Clone().Dot(field))
	}
	again := jen.Func().Params(jen.Id(b.l.ctx).Qual("context", "Context")).Params(b.err().Error()).Block(
		append(b.checked(append(others[:len(others):len(others)], b.err()), b.call(jen.Id(b.l.ctx))), jen.Return(b.err()))...)
	settle := jen.Id(b.l.call).Dot("Settle").Call(b.ctx(), b.err())
	useSecond := jen.List(append(own[:len(own):len(own)], b.err())...).Op("=").
		List(append(others[:len(others):len(others)], jen.Nil())...)
	loop := []jen.Code{jen.Var().Add(race.Clone()).Struct(fields...)}
	if release := b.use.Release; release.Name != "" {
		unused := jen.Id(release.Name).Add(typeArgs(release.Params)).Call(others...)
		loop = append(loop, race.Clone().Dot("Release").Op("=").Func().Params().Block(unused))
	}
	loop = append(loop,
		jen.Id(b.l.first).Op(":=").Id(b.l.call).Dot("Race").Call(b.ctx(), jen.Op("&").Add(race.Clone()).Dot("Race"),
			b.field(b.use.HedgeField), jen.Func().Params().Block(race.Clone().Dot("Again").Call(again))))
	loop = append(loop, b.checked(append(own[:len(own):len(own)], b.err()), b.call(jen.Id(b.l.first)))...)
	loop = append(loop,
		jen.If(settle.Op("==").Qual(HedgePath, "Second")).Block(useSecond),
		jen.If(b.succeeded()).Block(b.success(b.succeed())...))
	code := append(b.declared, b.begin(), b.deferEnd(),
		jen.For(b.decide("Admit"), b.succeeded(), b.decide("Next", b.err())).Block(loop...))
	return append(code, b.returnFailure()...)
}

// checked emits a call that assigns its results to the given variables, and the check of these
// results.
func (b body) checked(results []jen.Code, call *jen.Statement) []jen.Code {
	code := []jen.Code{jen.List(results...).Op("=").Add(call)}
	check := b.use.Check
	switch {
	case check.Name == "":
		return code
	case check.Error:
		return append(code, b.err().Op("=").Id(check.Name).Add(typeArgs(check.Params)).Call(results...))
	}
	values := results[:len(results)-1]
	return append(code, b.failIf(b.succeeded(), jen.Id(check.Name).Add(typeArgs(check.Params)).Call(values...)))
}
