package syntax

import (
	"encoding/json"
	"testing"
)

func TestHAProxy(t *testing.T) {
	for text, want := range map[string]string{
		"# all\ndefaults\n  mode http # of all\n  timeout connect 5s\n  timeout server 1m\r\n": `{"sections":[{"mode":["http"],"name":"","section":"defaults","timeout":["connect 5s","server 1m"]}]}`,
		"backend a from b\n  server s \"10.0.0.1:80\" check\n":                                 `{"sections":[{"name":"a from b","section":"backend","server":["s 10.0.0.1:80 check"]}]}`,
		"listen a\n  x b\\ c 'd \\e' \"f\\\"g\"\n":                                             `{"sections":[{"name":"a","section":"listen","x":["b c d \\e f\"g"]}]}`,
		"[metadata]\nname = x\n":                                                               ``, "": ``, "# only\n": ``,
	} {
		got := ""
		for _, doc := range File([]byte(text)).HAProxy() {
			b, err := json.Marshal(plain(doc.Root))
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
		}
	}
	doc := File([]byte("backend a\n  retry-on  503 504 # both")).HAProxy()[0]
	retries := doc.Root.Child("sections").Items[0].Get("retry-on")
	if got, want := retries.At, (Span{2, 3, 8}); got != want {
		t.Errorf("the keyword is at %v, want %v", got, want)
	}
	if got, want := retries.Value.Items[0].Span, (Span{2, 13, 7}); got != want {
		t.Errorf("the arguments are at %v, want %v", got, want)
	}
}
