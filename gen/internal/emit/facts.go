package emit

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/retrygen/retrygen/gen/internal/bind"
	"github.com/retrygen/retrygen/policy"
)

// FactsFunc is the name of the function that returns what is known about an error.
const FactsFunc = "retryFacts"

// RetryInfo is the import path of the package that defines RetryInfo messages. The status of a
// gRPC error may ask for a wait with such a message.
const RetryInfo = "google.golang.org/genproto/googleapis/rpc/errdetails"

// A Client is a client of the policy file with its Go symbols. The elements of its lists are in
// the order in which they are tested.
type Client struct {
	Name        string
	Description string
	Is, Test    []Symbols
	Types       []Reader
	Text        []Codes
	Attempts    int      // attempts that each call of the client makes by itself; 0 if unknown
	Packages    []string // import paths of the packages whose calls make these attempts; packages under them are included
}

// Symbols are variables or functions that mean the same outcome.
type Symbols struct {
	Outcome string
	Refs    []bind.Ref
}

// Codes are codes or texts that mean the same outcome.
type Codes struct {
	Outcome string
	Values  []string
}

// A Reader is an error type of a client, with the paths to the values that are read from it. A
// path is nil if the policy file does not name it.
type Reader struct {
	Type                                       bind.Ref
	Status, Response, GRPC, RetryAfter, Lookup *bind.Path
	Codes                                      []Codes // the codes that the value at Lookup may have
	Outcome                                    string  // the outcome of every error of the type, or ""
}

// ReaderFunc returns the name of the function that reads the errors of a client.
func ReaderFunc(client string) string { return lowerFirst(camel(client)) + "Facts" }

// GRPCReader is the name of the function that reads the status of gRPC errors.
const GRPCReader = "grpcFacts"

// readerLocals are the names of variables in the functions that read errors.
var readerLocals = []string{"f", "e", "ok", "v", "item", "code", "text", "s", "detail", "info", "read", "wait"}

// HasFacts reports whether the errors of any client are read.
func (f *File) HasFacts() bool { return f.GRPC || len(f.Clients) > 0 }

// FactsNames returns the names of the functions that read errors.
func (f *File) FactsNames() (names []string) {
	for _, c := range f.Clients {
		names = append(names, ReaderFunc(c.Name))
	}
	if f.GRPC {
		names = append(names, GRPCReader)
	}
	return names
}

// paths returns the paths that the reader reads.
func (r *Reader) paths() []*bind.Path {
	return slices.DeleteFunc([]*bind.Path{r.Status, r.Response, r.GRPC, r.RetryAfter, r.Lookup},
		func(p *bind.Path) bool { return p == nil })
}

// factsImports adds the packages that reading errors needs, by their names.
func (f *File) factsImports(paths map[string]string) {
	for _, c := range f.Clients {
		for _, list := range [][]Symbols{c.Is, c.Test} {
			for _, s := range list {
				for _, r := range s.Refs {
					paths[r.Pkg] = r.PkgName
				}
			}
		}
		if len(c.Is) > 0 {
			paths["errors"] = "errors"
		}
		if len(c.Text) > 0 {
			paths["strings"] = "strings"
		}
		for _, r := range c.Types {
			paths[r.Type.Pkg] = r.Type.PkgName
			if !r.Type.Either {
				paths["errors"] = "errors"
			}
			if r.Lookup != nil && r.Lookup.Kind == bind.ValueText && slices.ContainsFunc(r.Codes, Codes.hasStart) {
				paths["strings"] = "strings"
			}
		}
	}
	if f.GRPC {
		paths[GRPCStatus] = "status"
	}
	if f.RetryInfo {
		paths[RetryInfo] = "errdetails"
	}
	delete(paths, "") // the package of the file itself
}

// isAny reports whether a code matches every code.
func isAny(code string) bool { return code == "*" }

// hasStart reports whether one of the codes is a prefix, which ends with a *.
func (c Codes) hasStart() bool {
	return slices.ContainsFunc(c.Values, func(v string) bool { return strings.HasSuffix(v, "*") && !isAny(v) })
}

// facts emits
//
//	// retryFacts returns what is known about an error of azure or grpc.
//	func retryFacts(err error) (retry.Facts, bool) { … }
//
// and the function for each client.
func (p printer) facts(out *jen.File) {
	names := p.file.FactsNames()
	if len(names) == 0 {
		return
	}
	facts := func() *jen.Statement { return jen.Qual(RuntimePath, "Facts") }
	var who []string
	for _, name := range names {
		who = append(who, strings.TrimSuffix(name, "Facts"))
	}
	p.comment(out, wrap(FactsFunc+" returns what is known about an error of "+join(who, " or ")+"."))
	body := []jen.Code{
		jen.Id("f").Op(":=").Id(names[0]).Call(jen.Err()),
		jen.Return(jen.Id("f"), jen.Id("f").Op("!=").Parens(facts().Values())),
	}
	if len(names) > 1 {
		var list []jen.Code
		for _, name := range names {
			list = append(list, jen.Id(name))
		}
		readers := jen.Index(jen.Op("...")).Func().Params(jen.Error()).Add(facts())
		const perLine = 4
		if len(list) <= perLine {
			readers.Values(list...)
		} else {
			readers.Custom(multiline, list...)
		}
		body = []jen.Code{
			jen.For(jen.List(jen.Id("_"), jen.Id("read")).Op(":=").Range().Add(readers)).Block(
				jen.If(jen.Id("f").Op(":=").Id("read").Call(jen.Err()), jen.Id("f").Op("!=").Parens(facts().Values())).Block(
					jen.Return(jen.Id("f"), jen.True()),
				),
			),
			jen.Return(facts().Values(), jen.False()),
		}
	}
	out.Func().Id(FactsFunc).Params(jen.Err().Error()).Params(facts(), jen.Bool()).Block(body...).Line()
	for _, c := range p.file.Clients {
		p.client(out, c)
	}
	if p.file.GRPC {
		p.grpc(out)
	}
}

// AttemptsConst is the name of the constant from which retrylint learns how many attempts
// clients make by themselves.
const AttemptsConst = "retryClients"

// HasAttempts reports whether any client makes several attempts by itself.
func (f *File) HasAttempts() bool {
	return slices.ContainsFunc(f.Clients, func(c Client) bool { return c.Attempts > 1 })
}

// attempts emits
//
//	// retryClients lists …
//	const retryClients = "minio 10 github.com/minio/minio-go/v7\n"
//
//	const _ = retryClients
func (p printer) attempts(out *jen.File) {
	if !p.file.HasAttempts() {
		return
	}
	p.comment(out,
		wrap(AttemptsConst+" lists how many attempts the calls of some clients make by themselves. "+
			"retrylint reads it (RL401)."))
	var lines []jen.Code
	for _, c := range p.file.Clients {
		for _, path := range c.Packages {
			if c.Attempts > 1 {
				lines = append(lines, jen.Lit(fmt.Sprintf("%s %d %s\n", c.Name, c.Attempts, path)))
			}
		}
	}
	out.Const().Id(AttemptsConst).Op("=").Custom(jen.Options{Separator: " +\n"}, lines...).Line()
	out.Const().Id("_").Op("=").Id(AttemptsConst).Line() // otherwise, linters report it as unused
}

// client emits
//
//	// minioFacts returns what is known about an error of MinIO (minio-go).
//	func minioFacts(err error) (f retry.Facts) {
//		if e, ok := genapi.AsValue[minio.ErrorResponse](err); ok {
//			f.Status = e.StatusCode
//		}
//		return f
//	}
func (p printer) client(out *jen.File, c Client) {
	p.comment(out, wrap(ReaderFunc(c.Name)+" returns what is known about an error of "+
		strings.TrimSuffix(cmp.Or(c.Description, c.Name), ".")+"."))
	var body []jen.Code
	var cases []oneCase
	add := func(list []Symbols, test func(bind.Ref) jen.Code) {
		for _, s := range list {
			one := oneCase{body: jen.Return(literalOf(s.Outcome))}
			for _, r := range s.Refs {
				one.tests = append(one.tests, test(r))
			}
			cases = append(cases, one)
		}
	}
	add(c.Is, func(r bind.Ref) jen.Code { return jen.Qual("errors", "Is").Call(jen.Err(), reference(r)) })
	add(c.Test, func(r bind.Ref) jen.Code { return reference(r).Call(jen.Err()) })
	switch len(cases) {
	case 0:
	case 1:
		body = append(body, jen.If(cases[0].either()).Block(cases[0].body))
	default:
		body = append(body, jen.Switch().Block(inSwitch(cases)...))
	}
	for i, r := range c.Types {
		if i > 0 {
			body = append(body, known())
		}
		body = append(body, r.read())
	}
	if len(c.Text) > 0 {
		if len(c.Types) > 0 {
			body = append(body, known())
		}
		cases := textCases(c.Text)
		text := jen.Id("text").Op(":=").Err().Dot("Error").Call()
		if len(cases) == 1 {
			body = append(body, jen.If(text, cases[0].either()).Block(cases[0].body))
		} else {
			body = append(body, jen.Switch(text, jen.Empty()).Block(inSwitch(cases)...))
		}
	}
	body = append(body, jen.Return(jen.Id("f")))
	out.Func().Id(ReaderFunc(c.Name)).Params(jen.Err().Error()).Params(jen.Id("f").Qual(RuntimePath, "Facts")).
		Block(body...).Line()
}

// known emits
//
//	if f != (retry.Facts{}) {
//		return f
//	}
func known() jen.Code {
	return jen.If(jen.Id("f").Op("!=").Parens(jen.Qual(RuntimePath, "Facts").Values())).Block(jen.Return(jen.Id("f")))
}

// textCases emits the cases for parts of the text of an error.
func textCases(list []Codes) (cases []oneCase) {
	for _, c := range list {
		one := oneCase{body: assign(c.Outcome)}
		for _, part := range c.Values {
			one.tests = append(one.tests, jen.Qual("strings", "Contains").Call(jen.Id("text"), jen.Lit(part)))
		}
		cases = append(cases, one)
	}
	return cases
}

// A oneCase is a case of a switch without a tag, or an if statement.
type oneCase struct {
	tests []jen.Code
	body  jen.Code
}

// either emits the tests as one expression.
func (c oneCase) either() jen.Code {
	all := jen.Add(c.tests[0])
	for _, t := range c.tests[1:] {
		all.Op("||").Add(t)
	}
	return all
}

// inSwitch emits the cases of a switch.
func inSwitch(cases []oneCase) (list []jen.Code) {
	for _, c := range cases {
		list = append(list, jen.Case(inLines(c.tests)).Block(c.body))
	}
	return list
}

// inLines emits a list of expressions, as many on each line as fit.
func inLines(list []jen.Code) jen.Code {
	const width = 100
	var lines []jen.Code
	var line []jen.Code
	column := 0
	for _, code := range list {
		n := len(fmt.Sprintf("%#v", jen.Add(code))) + 2
		if column+n > width && len(line) > 0 {
			lines, line, column = append(lines, jen.List(line...)), nil, 0
		}
		line, column = append(line, code), column+n
	}
	return jen.Custom(jen.Options{Separator: ",\n"}, append(lines, jen.List(line...))...)
}

// literalOf emits the facts of an outcome, such as retry.Facts{Permanent: true}.
func literalOf(outcome string) jen.Code {
	field, value := fieldOf(outcome)
	return jen.Qual(RuntimePath, "Facts").Values(jen.Id(field).Op(":").Add(value))
}

// assign emits an assignment of an outcome to a field of f, such as f.Permanent = true.
func assign(outcome string) jen.Code {
	field, value := fieldOf(outcome)
	return jen.Id("f").Dot(field).Op("=").Add(value)
}

// fieldOf returns the only field that an outcome sets, and its value.
func fieldOf(outcome string) (string, jen.Code) {
	facts := reflect.ValueOf(policy.FactsOf(outcome))
	for field, value := range facts.Fields() {
		if !value.IsZero() {
			return field.Name, valueOf(value)
		}
	}
	panic("emit: no field has the outcome " + outcome)
}

// grpc emits
//
//	// grpcFacts returns the gRPC status code of an error, if it has one.
//	func grpcFacts(err error) (f retry.Facts) { … }
func (p printer) grpc(out *jen.File) {
	doc := GRPCReader + " returns the gRPC status code of an error, if it has one."
	body := []jen.Code{jen.Id("f").Dot("GRPC").Op("=").Uint32().Call(jen.Id("s").Dot("Code").Call())}
	if p.file.RetryInfo {
		doc = GRPCReader + " returns the gRPC status code of an error, if it has one, and the wait that the details of " +
			"the status ask for."
		body = append(body, jen.For(jen.List(jen.Id("_"), jen.Id("detail")).Op(":=").Range().Id("s").Dot("Details").
			Call()).Block(
			jen.If(jen.List(jen.Id("info"), jen.Id("ok")).Op(":=").Id("detail").Assert(jen.Op("*").Qual(RetryInfo,
				"RetryInfo")), jen.Id("ok")).Block(
				jen.Id("f").Dot("RetryAfter").Op("=").Id("info").Dot("GetRetryDelay").Call().Dot("AsDuration").Call(),
			),
		))
	}
	p.comment(out, wrap(doc))
	out.Func().Id(GRPCReader).Params(jen.Err().Error()).Params(jen.Id("f").Qual(RuntimePath, "Facts")).Block(
		jen.If(jen.List(jen.Id("s"), jen.Id("ok")).Op(":=").Qual(GRPCStatus, "FromError").Call(jen.Err()), jen.Id("ok")).
			Block(body...),
		jen.Return(jen.Id("f")),
	).Line()
}
