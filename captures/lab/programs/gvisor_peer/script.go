package main

import (
	"fmt"
	"strconv"
	"strings"
)

// word is one step of a script of peer.c, 'name:value'.
type word struct {
	name  string
	value string
}

// parseScript gives the words in the order in which they are run, loops unrolled.
func parseScript(script string) ([]word, error) {
	words, _, err := parseUntilBracket(strings.Fields(script))
	return words, err
}

func parseUntilBracket(fields []string) (words []word, rest []string, err error) {
	for len(fields) > 0 {
		field := fields[0]
		fields = fields[1:]
		times, loop := strings.CutSuffix(field, "(")
		switch {
		case field == ")":
			return words, fields, nil
		case loop:
			n, err := strconv.Atoi(times)
			if err != nil {
				return nil, nil, fmt.Errorf("loop %q: %w", field, err)
			}
			var inner []word
			if inner, fields, err = parseUntilBracket(fields); err != nil {
				return nil, nil, err
			}
			for range n {
				words = append(words, inner...)
			}
		default:
			name, value, _ := strings.Cut(field, ":")
			words = append(words, word{name, value})
		}
	}
	return words, nil, nil
}
