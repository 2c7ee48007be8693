package main

import (
	"context"
	"fmt"
	"sync"
)

// bank stands for the payment provider. Like a real one it takes an idempotency
// key and answers a repeat with the first transfer's receipt.
type bank struct {
	mu       sync.Mutex
	receipts map[string]string // by idempotency key
	requests int               // repeats included
}

func newBank() *bank { return &bank{receipts: map[string]string{}} }

// transfer pays cents for an order and returns the receipt.
func (b *bank) transfer(ctx context.Context, order string, cents int, idempotencyKey string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	if receipt, ok := b.receipts[idempotencyKey]; ok {
		return receipt, nil
	}
	receipt := fmt.Sprintf("%s-%d-%d", order, cents, len(b.receipts)+1)
	b.receipts[idempotencyKey] = receipt
	return receipt, nil
}

// transfers is how many transfers were made.
func (b *bank) transfers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.receipts)
}
