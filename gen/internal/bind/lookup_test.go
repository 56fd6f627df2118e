package bind

import "testing"

func TestSplitSymbol(t *testing.T) {
	for _, test := range []struct{ symbol, path, name, method string }{
		{"F", "", "F", ""},
		{"T.M", "", "T", "M"},
		{"io.Reader", "", "io", "Reader"}, // or the package: see StandardPath
		{"net/http.Get", "net/http", "Get", ""},
		{"net/http.Client.Do", "net/http", "Client", "Do"},
		{"example.com/nats.go.Dial", "example.com/nats.go", "Dial", ""},
		{"example.com/nats.go.Conn.Publish", "example.com/nats.go", "Conn", "Publish"},
		{"gopkg.in/yaml.v3.Node.Decode", "gopkg.in/yaml.v3", "Node", "Decode"},
		{"example.com/a.B.C.D", "example.com/a.B", "C", "D"},
		{"example.com/a.unexported", "example.com/a", "unexported", ""},
		{"example.com/a.T.unexported", "example.com/a", "T", "unexported"},
		{"example.com/a.", "example.com/a", "", ""},
		{"example.com/a", "", "example", "com/a"},
	} {
		if path, name, method := SplitSymbol(test.symbol); path != test.path || name != test.name || method != test.method {
			t.Errorf("%s: got %q %q %q, want %q %q %q", test.symbol, path, name, method, test.path, test.name, test.method)
		}
	}
}
