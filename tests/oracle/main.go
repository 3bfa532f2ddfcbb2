// Command oracle says what the real HorizontalPodAutoscaler controller and API
// server of Kubernetes decide. It reads JSON lines and writes JSON lines.
//
//	oracle run              scenarios in, {"scenario", "result"} out
//	oracle draw -seed N     random scenarios with their results out
//	oracle validate         {"yaml", "featureGates"} in, {"errors"} out
//	oracle quantity         quantity texts in, what the controller reads out
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"scaleproof.dev/tests/oracle/admission"
	"scaleproof.dev/tests/oracle/control"
	"scaleproof.dev/tests/oracle/draw"
	"scaleproof.dev/tests/oracle/scenario"
)

func main() {
	modes := map[string]func(*testing.T, *bufio.Writer, []string) error{"run": run, "draw": drawMany, "validate": validate, "quantity": quantity}
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: oracle run | draw -seed N [-first I] [-count N] [-extra-every N] | validate | quantity")
		os.Exit(2)
	}
	mode, arguments := modes[os.Args[1]], os.Args[2:]
	// testing/synctest needs a *testing.T, and testing.Main is the exported way
	// to one in an ordinary program. It prints to os.Stdout, which is kept away
	// from the results.
	os.Args = os.Args[:1]
	testing.Init()
	flag.Parse()
	stdout := bufio.NewWriterSize(os.Stdout, 1<<20)
	os.Stdout, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	control.Prepare()
	any := func(string, string) (bool, error) { return true, nil }
	testing.Main(any, []testing.InternalTest{{Name: "oracle", F: func(t *testing.T) {
		err := mode(t, stdout, arguments)
		if flushed := stdout.Flush(); err == nil {
			err = flushed
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			t.FailNow()
		}
	}}}, nil, nil)
}

func run(t *testing.T, out *bufio.Writer, _ []string) error {
	before, err := control.Reconciles()
	if err != nil {
		return err
	}
	steps := 0
	err = eachLine(out, func(data []byte) (any, error) {
		sc, err := scenario.Parse(data)
		if err != nil {
			return nil, err
		}
		result, err := control.Run(t, sc, control.Replay(sc))
		if err != nil {
			return nil, err
		}
		steps += len(result.Steps)
		return scenario.Vector{Scenario: bytes.Clone(data), Result: result}, nil
	})
	if err != nil {
		return err
	}
	// The controller counts its reconciles itself: one more or less than there
	// are steps would mean that they were not the ones looked at. Edits that
	// are refused end a scenario, so its last reconciles may go unseen.
	if after, err := control.Reconciles(); err != nil || after-before < steps {
		return fmt.Errorf("%d reconciles for %d steps (%v)", after-before, steps, err)
	}
	return nil
}

func drawMany(t *testing.T, out *bufio.Writer, arguments []string) error {
	flags := flag.NewFlagSet("draw", flag.ExitOnError)
	seed := flags.Uint64("seed", 1, "seed")
	first := flags.Uint64("first", 0, "number of the first scenario")
	count := flags.Uint64("count", 1, "how many scenarios")
	extraEvery := flags.Uint64("extra-every", 5, "every how many one has Object and Pods metrics, edits and errors")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	for index := *first; index < *first+*count; index++ {
		sc, result, err := draw.Draw(t, *seed, index, *extraEvery > 0 && index%*extraEvery == *extraEvery-1)
		if err != nil {
			return err
		}
		data, err := json.Marshal(sc)
		if err != nil {
			return err
		}
		if err := write(out, scenario.Vector{Scenario: data, Result: result}); err != nil {
			return err
		}
	}
	return nil
}

func validate(_ *testing.T, out *bufio.Writer, _ []string) error {
	return eachLine(out, func(data []byte) (any, error) {
		var request struct {
			YAML         string          `json:"yaml"`
			FeatureGates map[string]bool `json:"featureGates"`
		}
		if err := scenario.Strict(data, &request); err != nil {
			return nil, err
		}
		if err := control.SetGates(request.FeatureGates); err != nil {
			return nil, err
		}
		problems, err := admission.Judge([]byte(request.YAML))
		return map[string][]string{"errors": problems}, err
	})
}

// quantity reads each text as it is, and after a trip through the API.
func quantity(_ *testing.T, out *bufio.Writer, _ []string) error {
	return eachLine(out, func(data []byte) (any, error) {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return nil, err
		}
		direct, err := resource.ParseQuantity(text)
		if err != nil {
			return map[string]string{"error": err.Error()}, nil
		}
		sent, milli := direct.String(), direct.MilliValue()
		stored := resource.MustParse(sent)
		return map[string]any{
			"milli": milli, "stored": sent, "storedMilli": stored.MilliValue(), "sign": stored.Sign(),
			"float": strconv.FormatFloat(stored.AsApproximateFloat64(), 'g', -1, 64),
		}, nil
	})
}

// eachLine answers every line of stdin; it writes out what it has whenever it
// would have to wait, so that a client can talk to it line by line.
func eachLine(out *bufio.Writer, answer func([]byte) (any, error)) error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for number := 1; ; number++ {
		data, readErr := in.ReadBytes('\n')
		if readErr != nil && readErr != io.EOF {
			return readErr
		}
		if data = bytes.TrimSpace(data); len(data) > 0 {
			value, err := answer(data)
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			if err := write(out, value); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return nil
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func write(out *bufio.Writer, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = out.Write(append(data, '\n'))
	return err
}
