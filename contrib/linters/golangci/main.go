// Command integration is golangci-lint with the plugin compiled in. The test runs it.
package main

import (
	"fmt"
	"os"

	"github.com/golangci/golangci-lint/v2/pkg/commands"

	_ "github.com/retrygen/retrygen/contrib/golangci"
)

func main() {
	if err := commands.Execute(commands.BuildInfo{Version: "integration"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
