//go:build js && wasm

// Wasm is the playground for a browser. It defines the function retrygenAnswer(request),
// which takes and returns JSON text, and runs until the page is closed. Call the function
// in a worker, because a simulation takes seconds.
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
