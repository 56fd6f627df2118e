package console

import (
	"net/http/httptest"
	"os"
	"testing"

	"github.com/retrygen/retrygen/contrib/postgres/pgtest"
	"github.com/retrygen/retrygen/policy"
	"github.com/retrygen/retrygen/runtime/durable"
)

// policyFile reads the policy file of the tests.
func policyFile(t testing.TB) *policy.File {
	t.Helper()
	text, err := os.ReadFile("testdata/retry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file, problems := policy.Check("retry.yaml", text)
	if file == nil {
		t.Fatal(problems)
	}
	return file
}

// serve starts a console.
func serve(t testing.TB, c Config) (url string) {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(s.Close)
	return server.URL
}

// serveDemo starts a console that shows the demo.
func serveDemo(t testing.TB) (url string) {
	t.Helper()
	store, receipts := demo(t)
	root, err := os.OpenRoot(receipts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	e, err := durable.New(store)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, Config{
		Client: e.Admin(), Store: "sqlite:/var/lib/payments/retry.db", Write: true, Recovery: root,
		Policies: []*policy.File{policyFile(t)},
	})
}

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
