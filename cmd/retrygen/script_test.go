package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/retrygen/retrygen/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"retrygen": main, "terminal": scripttest.Terminal})
}

func TestScript(t *testing.T) { scripttest.Run(t) }
