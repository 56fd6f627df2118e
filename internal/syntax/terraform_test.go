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

func TestTerraformResources(t *testing.T) {
	text := `variable "n" { default = 3 }
resource "aws_sqs_queue" "orders" {
  name                       = "orders-${var.n}" # a comment
  visibility_timeout_seconds = var.n
  redrive_policy = jsonencode({
    maxReceiveCount = 5
  })
  tags = { team = "shop" }
  timeouts { create = "1m" }
}
resource aws_sqs_queue "failed" {}
resource "batch" "b" {
  policy = <<-EOF
    {"a": 1}
  EOF
  on_exit {
    action = "RETRY"
  }
  on_exit { action = "EXIT" }
  dynamic "timeout" {
    for_each = var.limits
    content { seconds = timeout.value }
  }
}
`
	docs := File([]byte(text)).Terraform()
	if len(docs) != 3 {
		t.Fatalf("got %d documents", len(docs))
	}
	resources := docs[0].Root.Get("resource").Value
	queue := resources.Child("aws_sqs_queue").Child("orders")
	for key, want := range map[string]string{
		"name": "orders-${var.n}", "visibility_timeout_seconds": "${var.n}",
		"redrive_policy": "${jsonencode({\n    maxReceiveCount = 5\n  })}",
	} {
		if got := queue.Child(key).Text; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got, want := queue.Child("timeouts").Get("create").At, (Span{9, 14, 6}); got != want {
		t.Errorf("create is at %v, want %v", got, want)
	}
	if got, want := resources.Child("aws_sqs_queue").Get("failed").At, (Span{11, 24, 8}); got != want {
		t.Errorf("the label with quotes is at %v, want %v", got, want)
	}
	exits := resources.Child("batch").Child("b").Child("on_exit")
	if got := exits.Child("1").Child("action").Text; len(exits.Items) != 2 || got != "EXIT" {
		t.Errorf("got %d blocks, the last one with action %q", len(exits.Items), got)
	}
	if got := resources.Child("batch").Child("b").Child("timeout").Text; got != "${dynamic}" {
		t.Errorf("a dynamic block is %q", got)
	}
	for _, broken := range []string{`resource "a" "b" {`, `resource "a" "b" }`, `resource "a" "b" { c = (1 }`, `resource "a" {}}`} {
		if docs := File([]byte(broken)).Terraform(); len(docs) > 0 {
			t.Errorf("%s has %d documents", broken, len(docs))
		}
	}
}
