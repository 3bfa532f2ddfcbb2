package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Reading is what the metrics API answers for one metric.
type Reading struct {
	Failed bool
	Items  []Item
	raw    json.RawMessage
}

// Item is one value of a metric.
type Item struct {
	Quantity  resource.Quantity
	Labels    map[string]string
	HasLabels bool
	// Missing says that a pod has no value (Pods metrics only).
	Missing bool
}

// NewReading makes a reading from its JSON form.
func NewReading(text string) Reading {
	var r Reading
	if err := r.UnmarshalJSON([]byte(text)); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return r
}

// MarshalJSON writes the reading as it was read.
func (r Reading) MarshalJSON() ([]byte, error) { return r.raw, nil }

// UnmarshalJSON takes null or {"error": ...} for a failure, else a list.
func (r *Reading) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	*r = Reading{raw: bytes.Clone(data)}
	if string(data) == "null" {
		r.Failed = true
		return nil
	}
	if bytes.HasPrefix(data, []byte("{")) {
		r.Failed = true
		return Strict(data, &struct {
			Error string `json:"error"`
		}{})
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, one := range list {
		item, err := parseItem(one)
		if err != nil {
			return err
		}
		r.Items = append(r.Items, item)
	}
	return nil
}

// parseItem takes an integer (milli-units), a quantity string, null, or an
// object of value and labels.
func parseItem(data json.RawMessage) (Item, error) {
	data = bytes.TrimSpace(data)
	switch {
	case string(data) == "null":
		return Item{Missing: true}, nil
	case data[0] == '{':
		var object struct {
			Value  json.RawMessage   `json:"value"`
			Labels map[string]string `json:"labels"`
		}
		if err := Strict(data, &object); err != nil {
			return Item{}, err
		}
		item, err := parseItem(object.Value)
		item.Labels, item.HasLabels = object.Labels, true
		return item, err
	case data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return Item{}, err
		}
		quantity, err := ParseQuantity(text)
		return Item{Quantity: quantity}, err
	default:
		var milli int64
		if err := json.Unmarshal(data, &milli); err != nil {
			return Item{}, fmt.Errorf("a number is a whole count of milli-units: %w", err)
		}
		return Item{Quantity: stored(*resource.NewMilliQuantity(milli, resource.DecimalSI))}, nil
	}
}

// ParseQuantity gives a quantity as it is after a trip through the API.
func ParseQuantity(text string) (resource.Quantity, error) {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return quantity, fmt.Errorf("quantity %q: %w", text, err)
	}
	return stored(quantity), nil
}

// Milli gives the milli-value the controller reads from a quantity's text.
func Milli(text string) int64 {
	quantity, err := ParseQuantity(text)
	if err != nil {
		panic(err)
	}
	return quantity.MilliValue()
}

// stored writes a quantity in canonical form and reads it again.
func stored(quantity resource.Quantity) resource.Quantity {
	return resource.MustParse(quantity.String())
}
