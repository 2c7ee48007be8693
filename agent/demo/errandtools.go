package demo

import (
	"fmt"
	"strings"

	"github.com/parley-dev/parley/agent/tool"
)

// errandTools are the tools of human_in_the_loop. Their effects are receipts only.
func errandTools() []tool.Tool {
	return []tool.Tool{
		tool.Func("send_email", "Send an e-mail.", func(ctx tool.CallContext, e email) (string, error) {
			return fmt.Sprintf("E-mail %q sent to %s, receipt %s", e.Subject, e.To, receiptOf(ctx)), nil
		}),
		tool.Func("delete_record", "Delete a record for good.", func(ctx tool.CallContext, r record) (string, error) {
			return fmt.Sprintf("Record %s deleted, receipt %s", r.Record, receiptOf(ctx)), nil
		}),
		tool.Func("transfer_money", "Transfer money.", func(ctx tool.CallContext, t transfer) (string, error) {
			return fmt.Sprintf("%.2f %s transferred to %s, receipt %s", t.Amount, t.Currency, t.To, receiptOf(ctx)), nil
		}),
		tool.Func("ask_user", "Ask the user a question and wait for the answer.", func(_ tool.CallContext, q inquiry) (string, error) {
			return "", fmt.Errorf("nobody was asked: %s", q.Question) // a person responds in its place; it is never run
		}),
		tool.Func("search", "Search the handbook.", func(_ tool.CallContext, q query) (string, error) {
			return lookUp(q.Query), nil
		}, tool.Annotate(tool.Annotations{ReadOnly: true})),
	}
}

// handbook is what search finds.
var handbook = []string{
	"Refunds up to 1,000 EUR need one approval.",
	"E-mails to customers are signed with a first name.",
	"Transfers are carried out on the next working day.",
	"Records are deleted for good after a request of the customer.",
}

// lookUp finds the sentence of the handbook with most of the words.
func lookUp(query string) string {
	best, most := "", 0
	for _, sentence := range handbook {
		n := 0
		for _, word := range strings.Fields(strings.ToLower(query)) {
			if len(word) > 3 && strings.Contains(strings.ToLower(sentence), strings.TrimRight(word, "s?.!")) {
				n++
			}
		}
		if n > most {
			best, most = sentence, n
		}
	}
	if best == "" {
		return "The handbook says nothing about " + query + "."
	}
	return "The handbook says: " + best
}
