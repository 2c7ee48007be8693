package demo

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	thenWord = regexp.MustCompile(`(?i)\s*(?:,|;)?\s*\b(?:and )?then\b\s*`)
	isoDate  = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	amount   = regexp.MustCompile(`(?i)([€$¥])?\s?(\d+(?:\.\d{1,2})?)\s?(€|\$|¥|EUR|USD|CNY|GBP)?\b`)
)

// codes are the currencies behind signs.
var codes = map[string]string{"€": "EUR", "$": "USD", "¥": "CNY"}

// amountIn finds an amount of money and its currency, EUR when it has none; 0 when there is none.
func amountIn(text string) (value float64, currency string) {
	currency = "EUR"
	for _, m := range amount.FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			continue
		}
		sign := strings.ToUpper(m[1] + m[3])
		if code, ok := codes[sign]; ok {
			sign = code
		}
		if sign != "" {
			return v, sign
		}
		if value == 0 {
			value = v
		}
	}
	return value, currency
}

// wordAfter is the name that follows a word, as far as it is written with capitals: "from New York to" → New York.
func wordAfter(text, word string) string {
	m := regexp.MustCompile(`\b(?i:` + regexp.QuoteMeta(word) + `) ((?:\p{Lu}[\p{L}.'-]*)(?: \p{Lu}[\p{L}.'-]*)*)`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

// afterColon is what follows the first colon, or the whole text without its first word.
func afterColon(text string) string {
	if _, rest, ok := strings.Cut(text, ":"); ok {
		return strings.TrimSpace(rest)
	}
	_, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.TrimSpace(rest)
}
