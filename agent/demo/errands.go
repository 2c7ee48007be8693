package demo

import (
	"regexp"
	"strings"
)

// The arguments of the errands that human_in_the_loop runs.
type (
	email struct {
		To      string `json:"to" jsonschema:"minLength=3" jsonschema_description:"Address of the recipient"`
		Subject string `json:"subject" jsonschema:"minLength=1"`
		Body    string `json:"body"`
	}
	record struct {
		Record string `json:"record" jsonschema:"minLength=1" jsonschema_description:"Id of the record"`
	}
	transfer struct {
		Amount   float64 `json:"amount" jsonschema:"exclusiveMinimum=0,maximum=100000"`
		Currency string  `json:"currency" jsonschema:"pattern=^[A-Z]{3}$" jsonschema_description:"ISO 4217 code"`
		To       string  `json:"to" jsonschema:"minLength=1" jsonschema_description:"Recipient"`
	}
	inquiry struct {
		Question string `json:"question" jsonschema:"minLength=1"`
	}
	query struct {
		Query string `json:"query" jsonschema:"minLength=1"`
	}
)

// errandVerbs tell what a clause of a request asks for.
var errandVerbs = []struct {
	tool string
	verb *regexp.Regexp
	args func(clause string) any
}{
	{"send_email", regexp.MustCompile(`(?i)\b(e-?mail|mail|write to)\b`), func(c string) any {
		to := mailAddress.FindString(c)
		if to == "" {
			to = strings.ToLower(wordAfter(c, "to"))
		}
		head, body, _ := strings.Cut(c, ":")
		subject := "Hello"
		if m := about.FindStringSubmatch(head); m != nil {
			subject = m[1]
		}
		return email{To: to, Subject: subject, Body: strings.TrimSpace(body)}
	}},
	{"delete_record", regexp.MustCompile(`(?i)\b(delete|remove|erase)\b`), func(c string) any {
		words := strings.Fields(strings.TrimRight(c, ".!"))
		return record{Record: words[len(words)-1]}
	}},
	{"transfer_money", regexp.MustCompile(`(?i)\b(transfer|wire|pay)\b`), func(c string) any {
		value, currency := amountIn(c)
		return transfer{Amount: value, Currency: currency, To: wordAfter(c, "to")}
	}},
	{"ask_user", regexp.MustCompile(`(?i)\bask\b`), func(c string) any { return inquiry{Question: afterColon(c)} }},
	{"search", regexp.MustCompile(`(?i)\b(search|look up|find)\b`), func(c string) any {
		return query{Query: strings.TrimSpace(searchVerb.ReplaceAllString(c, ""))}
	}},
}

var (
	mailAddress = regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	about       = regexp.MustCompile(`(?i)\babout (.+)$`)
	andWord     = regexp.MustCompile(`(?i)\s*(?:,|;)?\s*\band\b\s*`)
	searchVerb  = regexp.MustCompile(`(?i)\b(search( for)?|look up|find)\b`)
)

// planErrands reads a request: clauses joined by "and" are done together, those
// behind "then" afterwards. A clause without a known verb belongs to the one before it.
func planErrands(request string) [][]planned {
	var steps [][]planned
	for _, part := range thenWord.Split(request, -1) {
		var clauses []string
		begin := 0
		for _, and := range andWord.FindAllStringIndex(part, -1) {
			if errandOf(andWord.Split(part[and[1]:], 2)[0]) >= 0 {
				clauses = append(clauses, part[begin:and[0]])
				begin = and[1]
			}
		}
		clauses = append(clauses, part[begin:])
		var step []planned
		for _, c := range clauses {
			if i := errandOf(c); i >= 0 {
				step = append(step, planned{errandVerbs[i].tool, errandVerbs[i].args(c)})
			}
		}
		if len(step) > 0 {
			steps = append(steps, step)
		}
	}
	return steps
}

// errandOf is the errand that a clause asks for; -1 for none. The first verb in it decides.
func errandOf(clause string) int {
	found, at := -1, len(clause)
	for i, v := range errandVerbs {
		if m := v.verb.FindStringIndex(clause); m != nil && m[0] < at {
			found, at = i, m[0]
		}
	}
	return found
}
