package main

import "testing"

func TestLayOutKeepsLineEnds(t *testing.T) {
	tests := []struct{ name, before, edited, want string }{
		{"unix", "package p\n\nvar A = 1\n", "package p\n\nvar   A = 2\n", "package p\n\nvar A = 2\n"},
		{"windows", "package p\r\n\r\nvar A = 1\r\n", "package p\r\n\r\nvar   A = 2\n", "package p\r\n\r\nvar A = 2\r\n"},
		{"both", "package p\r\n\nvar A = 1\n", "package p\r\n\nvar A = 2\n", "package p\r\n\nvar A = 2\n"},
		{"not formatted", "package p\nvar   A = 1\n", "package p\nvar   A = 2\n", "package p\nvar   A = 2\n"},
	}
	for _, test := range tests {
		got, err := layOut([]byte(test.before), []byte(test.edited))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: layOut = %q, %v; want %q", test.name, got, err, test.want)
		}
	}
	if _, err := layOut([]byte("package p\r\n\nvar A = 1\n"), []byte("package p\r\n\nvar A = \n")); err == nil {
		t.Error("what does not parse was laid out")
	}
}
