package retryloop

import (
	"go/types"
	"regexp"
	"slices"

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
	return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			call, ok := instr.(*ssa.Call)
			return ok && len(errorsOf(call)) > 0 && !isRebuilt(call) && n.isRemote(call)
		})
	})
}

func (n Network) calls(fn *ssa.Function) bool {
	return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool {
		return slices.ContainsFunc(b.Instrs, func(instr ssa.Instruction) bool {
			call, ok := instr.(*ssa.Call)
			return ok && n.isRemote(call) && (GivenContext(call) == nil || len(errorsOf(call)) > 0 && !isRebuilt(call) && !waiter.MatchString(nameOf(call)))
		})
	})
}

// isRemote reports whether a call is given a context, a connection or a request,
// or returns one, or reaches what is.
func (n Network) isRemote(call ssa.CallInstruction) bool {
	if GivenContext(call) != nil || isOfNetwork(call.Common().Signature()) || slices.ContainsFunc(argumentsOf(call.Common()), carriesContext) {
		return true
	}
	fn := call.Common().StaticCallee()
	if fn == nil {
		return isOfClient(call.Common().Method)
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if isNamed(fn, "net/http", "Do", "Get", "Head", "Post", "PostForm", "RoundTrip") || isNamed(fn, "net", "Dial", "DialTimeout") ||
		isNamed(fn, "database/sql", "Query", "QueryRow", "Exec", "Ping", "Begin") || n.here[fn] {
		return true
	}
	f, ok := fn.Object().(*types.Func)
	return ok && (n.known(f) || isOfClient(f))
}

// clients matches the packages of clients of servers that are often used without a
// context: of these facts are only known where they are analysed as well, by go vet.
var clients = regexp.MustCompile(`^(net/(rpc|smtp)|golang\.org/x/crypto/ssh|gorm\.io/gorm|gopkg\.in/(mgo|redis)\.v\d+|google\.golang\.org/api|github\.com/(` +
	`aws/aws-sdk-go/service|bradfitz/gomemcache|eclipse/paho\.mqtt\.golang|fsouza/go-dockerclient|go-resty/resty|go-zookeeper/zk|samuel/go-zookeeper|gocql/gocql|` +
	`gomodule/redigo|hashicorp/(consul|nomad|vault)/api|(IBM|Shopify)/sarama|jinzhu/gorm|miekg/dns|nats-io/nats\.go|(rabbitmq/amqp091-go|streadway/amqp)))(/|$)`)

// isOfClient reports whether a function or method of such a client asks its server: it
// may fail, and makes no client or option.
func isOfClient(f *types.Func) bool {
	if f == nil || f.Pkg() == nil || !clients.MatchString(f.Pkg().Path()) || maker.MatchString(f.Name()) || f.Name() == "Close" {
		return false
	}
	results := f.Signature().Results()
	return results.Len() > 0 && isError(results.At(results.Len()-1).Type())
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

// isOfNetwork reports whether a function takes or returns a connection, or an
// HTTP request or its response.
func isOfNetwork(sig *types.Signature) bool {
	for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
		for v := range tuple.Variables() {
			switch types.TypeString(v.Type(), nil) {
			case "net.Conn", "*net/http.Request", "*net/http.Response":
				return true
			}
		}
	}
	return false
}
