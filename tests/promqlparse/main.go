// Parses PromQL with Prometheus's own parser and says what it is, so that tests need not trust any other.
//
// Reads one JSON object a line from standard input, a query, a text and a label. Answers each at once with a JSON object a
// line: the error, or the kind of the root node, its range in milliseconds, the metric's name and the matchers in the order
// in which they stand, each with whether it accepts the text. Besides, for any kind of query: the matchers of every selector
// in it, and the query written anew by Prometheus without any matcher on the label.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const maxLineBytes = 1 << 20

type question struct {
	Query string `json:"query"`
	Text  string `json:"text"`
	Label string `json:"label"`
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

	Selectors [][]matcher `json:"selectors"`
	Without   string      `json:"without"`
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
		if err := encoder.Encode(describe(asked)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func describe(asked question) tree {
	expression, err := parser.ParseExpr(asked.Query)
	if err != nil {
		return tree{Error: err.Error()}
	}
	found := tree{Kind: fmt.Sprintf("%T", expression)}
	selector, isVector := expression.(*parser.VectorSelector)
	if matrix, isMatrix := expression.(*parser.MatrixSelector); isMatrix {
		found.RangeMilliseconds = matrix.Range.Milliseconds()
		selector, isVector = matrix.VectorSelector.(*parser.VectorSelector)
	}
	if isVector {
		found.OffsetMilliseconds = selector.OriginalOffset.Milliseconds()
		for _, one := range selector.LabelMatchers {
			if one.Name == labels.MetricName {
				found.Metric = one.Value
			}
		}
		found.Matchers = matchersOf(selector, asked.Text)
	}
	// Only after all matchers are read: those on the label are taken out of the tree.
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if one, ok := node.(*parser.VectorSelector); ok {
			found.Selectors = append(found.Selectors, matchersOf(one, asked.Text))
			one.LabelMatchers = without(one.LabelMatchers, asked.Label)
		}
		return nil
	})
	found.Without = expression.String()
	return found
}

// matchersOf lists the matchers of a selector except that on its name.
func matchersOf(selector *parser.VectorSelector, text string) []matcher {
	found := []matcher{}
	for _, one := range selector.LabelMatchers {
		if one.Name != labels.MetricName {
			found = append(found, matcher{one.Name, one.Type.String(), one.Value, one.Matches(text)})
		}
	}
	return found
}

// without leaves out the matchers on a label and puts the others in the order of their texts, which means nothing.
func without(matchers []*labels.Matcher, label string) []*labels.Matcher {
	kept := []*labels.Matcher{}
	for _, one := range matchers {
		if one.Name != label {
			kept = append(kept, one)
		}
	}
	slices.SortFunc(kept, func(a, b *labels.Matcher) int { return strings.Compare(a.String(), b.String()) })
	return kept
}
