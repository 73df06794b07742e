// Command conformance is the Go client and the Go backend under the conformance suite: `conformance client`, `conformance backend ADDRESS`.
package main

import (
	"fmt"
	"os"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == "client":
		err = client(os.Stdin, os.Stdout)
	case len(args) == 2 && args[0] == "backend":
		err = serve(args[1], os.Stdout)
	default:
		fmt.Fprintln(os.Stderr, "expected `client` or `backend ADDRESS`, found:", args)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
