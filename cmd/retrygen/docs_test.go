package main

import (
	"testing"

	"github.com/retrygen/retrygen/internal/docpages"
)

func TestDocs(t *testing.T) { docpages.TestCommands(t, "../..", program()) }
