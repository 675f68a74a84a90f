// Reads a result of Fortio from standard input as Fortio's own type, and prints what Fortio says of it.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"fortio.org/fortio/fhttp"
)

func main() {
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	var result fhttp.HTTPRunnerResults
	if err := decoder.Decode(&result); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("requests %d, errors %d, run %d\n", result.DurationHistogram.Count, result.ErrorsDurationHistogram.Count, result.RunnerResults.RunID)
	fmt.Printf("codes %v\n", result.RetCodes)
	result.DurationHistogram.Print(os.Stdout, "latency")
}
