package syntax

import (
	"encoding/json"
	"testing"
)

func TestTerraform(t *testing.T) {
	for text, want := range map[string]string{
		`x = jsonencode({a = 1, "b" : "two", c = [true, null, -1.5]})`:          `{"a":1,"b":"two","c":[true,null,-1.5]}`,
		"x = jsonencode({\n  a = 1 # one\n  /* two */ b = {\n  }\n  c = []\n})": `{"a":1,"b":{},"c":[]}`,
		`x = jsonencode({a = var.n, b = "${local.x["y"]}/z", c = 1 + 2})`:       `{"a":"${var.n}","b":"${local.x[\"y\"]}/z","c":"${1 + 2}"}`,
		`x = jsonencode({a = f({b = 1}, "}"), c = var.d ? 1 : 2})`:              `{"a":"${f({b = 1}, \"}\")}","c":"${var.d ? 1 : 2}"}`,
		`x = jsonencode({a = "1\n\"2\"", a = 3})`:                               `{"a":"1\n\"2\""}`,
		"x = <<-EOF\n  {\"a\": \"${var.x}\"}\n  EOF\ny = jsonencode([1])":       `{"a":"${var.x}"} [1]`,
		"x = jsonencode([<<EOT\n\"x }\nEOT\n])\ny = jsonencode([2])":            `["${\u003c\u003cEOT\n\"x }\nEOT}"] [2]`,
		`x = "%{ if y != "" }a%{ endif }${y}"; z = jsonencode([1])`:             `[1]`,
		`x = "$${not" + "%%{either"; z = jsonencode(["$${n}"])`:                 `["${n}"]`,
		"x = <<EOF\n#!/bin/sh\nEOF\n":                                           ``,
		`x = jsonencode(var.all) # jsonencode({a = 1})`:                         ``,
		`x = "jsonencode({a = 1})"`:                                             ``,
		`x = jsonencode({for k, v in var.m : k => v})`:                          ``,
		`x = jsonencode({a = [for v in var.m : v]})`:                            `{"a":"${[for v in var.m : v]}"}`,
		`x = jsonencode({a = `:                                                  ``,
		`x = yamlencode({a = 1})`:                                               ``,
	} {
		got := ""
		for _, doc := range File([]byte(text)).Terraform() {
			value, err := json.Marshal(doc.Root.Value)
			if err != nil {
				t.Fatal(err)
			}
			if got != "" {
				got += " "
			}
			got += string(value)
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
	docs := File([]byte("x = {\n  d = jsonencode({\n    é = [1,\n      \"b\"]\n  })\n}\n")).Terraform()
	docs[0].Place()
	e := docs[0].Root.Entries[0]
	if at := (Span{3, 5, 2}); e.At != at {
		t.Errorf("é is at %v, want %v", e.At, at)
	}
	if got, at := e.Value.Items[1].Span, (Span{4, 7, 3}); got != at {
		t.Errorf("b is at %v, want %v", got, at)
	}
}
