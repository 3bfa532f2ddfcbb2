package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
)

// parsed is what apimachinery makes of one text: an error, or the requirements of a selector, or a quantity's exact
// number and the milli-value that the HorizontalPodAutoscaler reads.
type parsed struct {
	Error        string  `json:"error,omitempty"`
	Requirements [][]any `json:"requirements,omitempty"`
	Exact        string  `json:"exact,omitempty"`
	Milli        int64   `json:"milli"`
}

// runParse reads lines such as {"kind": "selector", "text": "a in (b)"} and answers each with a line of JSON.
func runParse() int {
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 1<<20)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for scanner.Scan() {
		var asked struct{ Kind, Text string }
		if err := json.Unmarshal(scanner.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, "parse:", err)
			return 2
		}
		answer := parseQuantity(asked.Text)
		if asked.Kind == "selector" {
			answer = parseSelector(asked.Text)
		}
		if err := encoder.Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, "parse:", err)
			return 1
		}
	}
	return 0
}

func parseSelector(text string) parsed {
	selector, err := labels.Parse(text)
	if err != nil {
		return parsed{Error: err.Error()}
	}
	answer := parsed{}
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		values := slices.Sorted(slices.Values(requirement.ValuesUnsorted()))
		if values == nil {
			values = []string{}
		}
		answer.Requirements = append(answer.Requirements, []any{requirement.Key(), string(requirement.Operator()), values})
	}
	return answer
}

func parseQuantity(text string) parsed {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return parsed{Error: err.Error()}
	}
	milli := quantity.MilliValue() // before AsDec, which changes the representation
	return parsed{Exact: quantity.AsDec().String(), Milli: milli}
}
