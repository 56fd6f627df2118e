package retryloop

import (
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Network knows which functions reach the network.
type Network struct {
	known func(*types.Func) bool // of other packages
	here  map[*ssa.Function]bool
}

// deepest is how many calls may lie between a function and what it reaches. What is
// farther away is seldom what it is about.
const deepest = 5

// NewNetwork finds the functions of a package that reach the network. known tells
// of those of others.
func NewNetwork(fns []*ssa.Function, known func(*types.Func) bool) Network {
	n := Network{known, map[*ssa.Function]bool{}}
	for range deepest {
		var found []*ssa.Function
		for _, fn := range fns {
			if !n.here[fn] && n.calls(fn) {
				found = append(found, fn)
			}
		}
		for _, fn := range found {
			n.here[fn] = true
		}
		if len(found) == 0 {
			break
		}
	}
	return n
}

// Reaches reports whether a function of the package reaches the network, by
// something else than the context that it is given.
func (n Network) Reaches(fn *ssa.Function) bool { return n.here[fn] }

// Asks reports whether a function of the package makes any remote call that may fail.
func (n Network) Asks(fn *ssa.Function) bool {
	return anyInstr(fn, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		return ok && len(errorsOf(call)) > 0 && !isRebuilt(call) && n.isRemote(call)
	})
}

func (n Network) calls(fn *ssa.Function) bool {
	return anyInstr(fn, func(instr ssa.Instruction) bool {
		call, ok := instr.(*ssa.Call)
		return ok && n.isRemote(call) &&
			(GivenContext(call) == nil || len(errorsOf(call)) > 0 && !isRebuilt(call) && !waiter.MatchString(nameOf(call)))
	})
}

// isRemote reports whether a call is given a context, a connection or a request,
// or returns one, or reaches what is.
func (n Network) isRemote(call ssa.CallInstruction) bool {
	if isWithin(call.Common().StaticCallee()) {
		return false
	}
	if GivenContext(call) != nil || isOfNetwork(call.Common().Signature()) ||
		slices.ContainsFunc(argumentsOf(call.Common()), carriesContext) {
		return true
	}
	if made := answeredBy(call); made != nil && len(errorsOf(made)) == 0 && n.isRemote(made) {
		return true
	}
	fn := call.Common().StaticCallee()
	if fn == nil {
		return isOfClient(call.Common().Method) || isOfClientType(call.Common().Method, call.Parent())
	}
	fn = Generic(fn)
	if isNamed(fn, "net/http", "Do", "Get", "Head", "Post", "PostForm", "RoundTrip") ||
		isNamed(fn, "net", "Dial", "DialTimeout", "LookupHost", "LookupIP", "LookupAddr", "LookupCNAME", "LookupMX",
			"LookupNS", "LookupSRV", "LookupTXT") ||
		isNamed(fn, "database/sql", "Query", "QueryRow", "Exec", "Ping", "Begin") || n.here[fn] {
		return true
	}
	f, ok := fn.Object().(*types.Func)
	return ok && (n.known(f) || isOfClient(f) || isOfClientType(f, call.Parent()))
}

// client names the types through which other programs are spoken to.
var client = regexp.MustCompile(`(Client|API|Bot|Session|Service)$|^[cC]lient`)

var ownClient = regexp.MustCompile(`(Client|API)$|^[cC]lient`)

// namedOf returns the named type that a type is, or points to, or nil.
func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// isOf reports whether a call is of a method of a type with such a name.
func isOf(call *ssa.Call, name *regexp.Regexp) bool {
	of := receiverOf(call)
	if of == nil {
		return false
	}
	named := namedOf(of.Type())
	return named != nil && name.MatchString(named.Obj().Name())
}

// isOfClientType reports whether a method that may fail is of a client by the name of its
// type: one of another repository, or an interface. Of a type of this repository it is known
// what it reaches.
func isOfClientType(f *types.Func, from *ssa.Function) bool {
	if f == nil || f.Pkg() == nil || from.Pkg == nil || maker.MatchString(f.Name()) || local.MatchString(f.Name()) {
		return false
	}
	results := f.Signature().Results()
	if f.Signature().Recv() == nil || results.Len() == 0 || !isError(results.At(results.Len()-1).Type()) {
		return false
	}
	named := namedOf(f.Signature().Recv().Type())
	if named == nil || !client.MatchString(named.Obj().Name()) {
		return false
	}
	path := f.Pkg().Path()
	if repositoryOf(path) == repositoryOf(from.Pkg.Pkg.Path()) {
		// A service or session of its own may be a part of the program.
		return types.IsInterface(named) && ownClient.MatchString(named.Obj().Name())
	}
	host, _, _ := strings.Cut(path, "/")
	return types.IsInterface(named) || strings.Contains(host, ".")
}

// repositoryOf returns the first three parts of the path of a package, which most hosts give
// a repository.
func repositoryOf(path string) string {
	parts := strings.SplitN(path, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}

// isWithin reports whether a function waits for others within this program, as semaphores and
// limiters do, or for another program of this machine.
func isWithin(fn *ssa.Function) bool {
	if fn == nil || fn.Pkg == nil {
		return false
	}
	path := fn.Pkg.Pkg.Path()
	return strings.HasPrefix(path, "golang.org/x/sync/") || path == "golang.org/x/time/rate" || path == "os/exec"
}

// answeredBy returns the call that a method is called on the answer of: that says how the
// call went, as Scan does of QueryRow.
func answeredBy(call ssa.CallInstruction) *ssa.Call {
	value, ok := call.(*ssa.Call)
	if !ok || receiverOf(value) == nil || len(errorsOf(value)) == 0 {
		return nil
	}
	made, _ := receiverOf(value).(*ssa.Call)
	return made
}

// clients are the packages of clients of servers that are often used without a context.
// Facts tell of them only where they are analysed as well, as by go vet.
var clients = []string{
	"net/rpc", "net/smtp", "golang.org/x/crypto/ssh", "google.golang.org/api", "gopkg.in/mgo.v2", "gopkg.in/redis.v5",
	"gorm.io/gorm", "github.com/IBM/sarama", "github.com/Shopify/sarama", "github.com/aws/aws-sdk-go/service",
	"github.com/bradfitz/gomemcache", "github.com/eclipse/paho.mqtt.golang", "github.com/fsouza/go-dockerclient",
	"github.com/go-resty/resty", "github.com/go-zookeeper/zk", "github.com/gocql/gocql", "github.com/gomodule/redigo",
	"github.com/hashicorp/consul/api", "github.com/hashicorp/nomad/api", "github.com/hashicorp/vault/api",
	"github.com/jinzhu/gorm", "github.com/miekg/dns", "github.com/nats-io/nats.go", "github.com/rabbitmq/amqp091-go",
	"github.com/samuel/go-zookeeper", "github.com/streadway/amqp",
}

// local names what such a client does without its server.
var local = regexp.MustCompile(`^(Close|Parse|Pack|Unpack|Marshal|Unmarshal|Encode|Decode|Read|Validate|Set)`)

// isOfClient reports whether a method of such a client, or a function that dials or connects, asks
// its server: it may fail, and makes no other client or option.
func isOfClient(f *types.Func) bool {
	if f == nil || f.Pkg() == nil || maker.MatchString(f.Name()) || local.MatchString(f.Name()) {
		return false
	}
	if f.Signature().Recv() == nil && !strings.HasPrefix(f.Name(), "Dial") && !strings.HasPrefix(f.Name(), "Connect") {
		return false
	}
	results := f.Signature().Results()
	return results.Len() > 0 && isError(results.At(results.Len()-1).Type()) &&
		slices.ContainsFunc(clients, func(client string) bool {
			rest, ok := strings.CutPrefix(f.Pkg().Path(), client)
			return ok && (rest == "" || rest[0] == '/')
		})
}

// Outward reports whether a retry may leave the program: it is remote, or of a
// method that an interface hides.
func (r Retry) Outward(n Network) bool { return n.isRemote(r.Call) || r.Call.Common().IsInvoke() }

// isRemote reports whether what is tried again is remote, or, where nothing ends
// the retry, is of a method that an interface hides.
func (r Retry) isRemote(n Network) bool {
	return n.isRemote(r.Call) || r.Bound == Unbounded && r.Call.Common().IsInvoke()
}

// argumentsOf returns what a call is given, without its receiver.
func argumentsOf(common *ssa.CallCommon) []ssa.Value {
	if common.Signature().Recv() != nil && !common.IsInvoke() {
		return common.Args[1:]
	}
	return common.Args
}

// carriesContext reports whether an argument is made with a context, as options
// and requests are.
func carriesContext(arg ssa.Value) bool {
	made, ok := arg.(*ssa.Call)
	return ok && nameOf(made) == "WithContext" && GivenContext(made) != nil
}

// isOfResponse reports whether a call returns the response of an HTTP request.
func isOfResponse(call *ssa.Call) bool {
	results := call.Common().Signature().Results()
	return results.Len() > 0 && types.TypeString(results.At(0).Type(), nil) == "*net/http.Response"
}

// isOfNetwork reports whether a function takes or returns a connection, or an
// HTTP request or its response.
func isOfNetwork(sig *types.Signature) bool {
	for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
		for v := range tuple.Variables() {
			if isConnection(v.Type()) || holdsRequest(v.Type()) {
				return true
			}
		}
	}
	return false
}

func isRequest(t types.Type) bool { return types.TypeString(t, nil) == "*net/http.Request" }

func isConnection(t types.Type) bool {
	switch types.TypeString(t, nil) {
	case "*net/http.Request", "*net/http.Response":
		return true
	}
	return hasPeer(t)
}

// hasPeer reports whether t is a connection: it knows an address of the other end, and
// what it reads can be given a deadline.
func hasPeer(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		if _, ok := types.Unalias(t.Elem()).(*types.Named); !ok {
			return false
		}
	case *types.Named:
		if !types.IsInterface(t) {
			return false
		}
	default:
		return false
	}
	return isMethod(t, "SetReadDeadline") && isMethod(t, "RemoteAddr")
}

func isMethod(t types.Type, name string) bool {
	found, _, _ := types.LookupFieldOrMethod(t, false, nil, name)
	_, ok := found.(*types.Func)
	return ok
}

// holdsRequest reports whether t points to a struct that is an HTTP request or its
// response with something beside it.
func holdsRequest(t types.Type) bool {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	s, ok := p.Elem().Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for field := range s.Fields() {
		if !hasPeer(field.Type()) && isConnection(field.Type()) &&
			(field.Embedded() || strings.HasSuffix(p.Elem().String(), "Response")) {
			return true
		}
	}
	return false
}
