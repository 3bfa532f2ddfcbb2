// Parses PromQL with Prometheus's own parser and says what it is, so that tests need not trust any other.
//
// Reads one JSON object a line from standard input, a query and a text. Answers each at once with a JSON object a line: the
// error, or the kind of the root node, its range in milliseconds, the metric's name and the matchers in the order in which
// they stand, each with whether it accepts the text.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const maxLineBytes = 1 << 20

type question struct {
	Query string `json:"query"`
	Text  string `json:"text"`
}

type matcher struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Value   string `json:"value"`
	Accepts bool   `json:"accepts"`
}

type tree struct {
	Error              string    `json:"error,omitempty"`
	Kind               string    `json:"kind"`
	RangeMilliseconds  int64     `json:"range_ms"`
	OffsetMilliseconds int64     `json:"offset_ms"`
	Metric             string    `json:"metric"`
	Matchers           []matcher `json:"matchers"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promqlparse:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLineBytes)
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return fmt.Errorf("a line is no question: %w", err)
		}
		if err := encoder.Encode(describe(asked.Query, asked.Text)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func describe(query, text string) tree {
	expression, err := parser.ParseExpr(query)
	if err != nil {
		return tree{Error: err.Error()}
	}
	found := tree{Kind: fmt.Sprintf("%T", expression)}
	selector, isVector := expression.(*parser.VectorSelector)
	if matrix, isMatrix := expression.(*parser.MatrixSelector); isMatrix {
		found.RangeMilliseconds = matrix.Range.Milliseconds()
		selector, isVector = matrix.VectorSelector.(*parser.VectorSelector)
	}
	if !isVector {
		return found
	}
	found.OffsetMilliseconds = selector.OriginalOffset.Milliseconds()
	for _, one := range selector.LabelMatchers {
		if one.Name == labels.MetricName {
			found.Metric = one.Value
			continue
		}
		found.Matchers = append(found.Matchers, matcher{one.Name, one.Type.String(), one.Value, one.Matches(text)})
	}
	return found
}
