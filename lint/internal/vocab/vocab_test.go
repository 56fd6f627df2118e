package vocab

import (
	"go/token"
	"go/types"
	"regexp"
	"testing"
)

// function returns a function or, if recv is not empty, a method of a package.
func function(path, recv, name string) *types.Func {
	pkg := types.NewPackage(path, "p")
	var v *types.Var
	if recv != "" {
		obj := types.NewTypeName(token.NoPos, pkg, recv, nil)
		named := types.NewNamed(obj, types.NewStruct(nil, nil), nil)
		v = types.NewVar(token.NoPos, pkg, "r", types.NewPointer(named))
	}
	return types.NewFunc(token.NoPos, pkg, name, types.NewSignatureType(v, nil, nil, nil, nil, false))
}

func TestOf(t *testing.T) {
	for _, test := range []struct {
		pkg, recv, name string
		want            Known
	}{
		{"time", "", "Sleep", Known{Waits, 0, Library}},
		{"a.com/vendor/time", "", "Sleep", Known{Waits, 0, Library}},
		{"time", "", "Now", Known{Clock, -1, Library}},
		{"errors", "", "New", Known{Pure | Fails, -1, Library}},
		{"errors", "", "Is", Known{Pure | Judges, -1, Library}},
		{"net/http", "Client", "Do", Known{Remote, -1, Library}},
		{"net/http", "Request", "Context", Known{Pure | Attaches, -1, Library}},
		{"go.uber.org/zap", "Logger", "Fatal", Known{Exits, -1, Library}},
		{"go.uber.org/zap", "Logger", "Error", Known{Logs, -1, Library}},
		{"k8s.io/klog/v2", "", "Exitf", Known{Exits, -1, Library}},
		{"go.opentelemetry.io/otel/trace", "Tracer", "Start", Known{Pure | Makes | Derives, -1, Library}},
		{"github.com/redis/go-redis/v9", "baseCmd", "Err", Known{Remote, -1, Library}},
		{"net", "Listener", "Accept", Known{Receives | Blocks, -1, Library}},
		{"github.com/gorilla/websocket", "Conn", "ReadMessage", Known{Receives | Blocks | Persists, -1, Library}},
		{"a.com/b", "queue", "Pop", Known{Receives, -1, Named}},
		{"a.com/b", "client", "Login", Known{0, -1, Library}}, // not a log
		{"a.com/b", "", "isTransient", Known{Judges, -1, Named}},
		{"a.com/b", "", "issue", Known{0, -1, Named}},
		{"a.com/b", "", "waitForLog", Known{Waits | Logs, -1, Named}},
	} {
		if got := Of(function(test.pkg, test.recv, test.name)); got != test.want {
			t.Errorf("%s %s.%s: got %+v, want %+v", test.pkg, test.recv, test.name, got, test.want)
		}
	}
}

// TestCallOptions: a generated method of gRPC leaves the process, whatever its name is.
func TestCallOptions(t *testing.T) {
	grpc := types.NewPackage("google.golang.org/grpc", "grpc")
	option := types.NewNamed(types.NewTypeName(token.NoPos, grpc, "CallOption", nil),
		types.NewInterfaceType(nil, nil), nil)
	recv := function("a.com/b", "usersClient", "GetUser").Signature().Recv()
	opts := types.NewParam(token.NoPos, nil, "opts", types.NewSlice(option))
	for _, test := range []struct {
		variadic bool
		want     Role
	}{{true, Remote}, {false, Makes | Gets}} {
		sig := types.NewSignatureType(recv, nil, nil, types.NewTuple(opts), nil, test.variadic)
		fn := types.NewFunc(token.NoPos, recv.Pkg(), "GetUser", sig)
		if got := Of(fn).Role; got != test.want {
			t.Errorf("variadic %v: got role %b, want %b", test.variadic, got, test.want)
		}
	}
}

// TestTable: patterns compile, and rows by name come last, where they cannot hide others.
func TestTable(t *testing.T) {
	named := false
	for _, r := range Table {
		for _, pattern := range []string{r.Pkg, r.Recv, r.Name} {
			if _, err := regexp.Compile(pattern); err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
		if r.Evidence > Named && named {
			t.Errorf("%+v: a row of %s evidence after rows of named evidence", r, r.Evidence)
		}
		named = named || r.Evidence == Named
		if r.Role&(Waits|Clock|Random|Adds) == 0 && r.Duration >= 0 {
			t.Errorf("%+v: a duration, but no role that has one", r)
		}
	}
}

// TestStream: Recv of a generated stream of gRPC fails for ever once it has failed.
func TestStream(t *testing.T) {
	recvMsg := function("google.golang.org/grpc", "ClientStream", "RecvMsg")
	recvMsg = types.NewFunc(token.NoPos, recvMsg.Pkg(), "RecvMsg", types.NewSignatureType(nil, nil, nil, nil, nil, false))
	stream := types.NewNamed(types.NewTypeName(token.NoPos, recvMsg.Pkg(), "ClientStream", nil),
		types.NewInterfaceType([]*types.Func{recvMsg}, nil), nil)
	pkg := types.NewPackage("a.com/b", "b")
	embedded := types.NewField(token.NoPos, pkg, "ClientStream", stream, true)
	watch := types.NewNamed(types.NewTypeName(token.NoPos, pkg, "watchClient", nil),
		types.NewStruct([]*types.Var{embedded}, nil), nil)
	recv := types.NewVar(token.NoPos, pkg, "w", types.NewPointer(watch))
	fn := types.NewFunc(token.NoPos, pkg, "Recv", types.NewSignatureType(recv, nil, nil, nil, nil, false))
	if got, want := Of(fn).Role, Receives|Blocks|Persists; got != want {
		t.Errorf("got role %b, want %b", got, want)
	}
}

func TestShapeOf(t *testing.T) {
	pkg := types.NewPackage("example.com/p", "p")
	named := func(name string, fields ...*types.Var) types.Type {
		return types.NewPointer(types.NewNamed(types.NewTypeName(0, pkg, name, nil), types.NewStruct(fields, nil), nil))
	}
	err := types.NewField(0, pkg, "Err", types.Universe.Lookup("error").Type(), false)
	status := types.NewField(0, pkg, "StatusCode", types.Typ[types.Int], false)
	text := types.NewField(0, pkg, "Err", types.Typ[types.String], false)
	for _, test := range []struct {
		typ  types.Type
		want *types.Var
	}{
		{named("answer", err), err},
		{named("GetResponse", status), status},
		{named("config", status), nil},
		{named("answer", text), nil},
		{types.Typ[types.Int], nil},
	} {
		if got, _ := ShapeOf(test.typ); got != test.want {
			t.Errorf("ShapeOf(%v) = %v, want %v", test.typ, got, test.want)
		}
	}
}
