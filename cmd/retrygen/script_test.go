package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrygen/retrygen/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retrygen": main})
}

func TestScript(t *testing.T) { scripttest.Run(t) }
