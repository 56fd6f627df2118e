//go:build js && wasm

// Wasm is the playground for a browser: it defines the function retrygenAnswer(request),
// which takes and returns JSON as text, and runs until the page is closed. Call it in a
// worker: a simulation takes seconds.
package main

import (
	"syscall/js"

	"github.com/retrygen/retrygen/playground"
)

func main() {
	js.Global().Set("retrygenAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return string(playground.Answer([]byte(args[0].String())))
	}))
	select {}
}
