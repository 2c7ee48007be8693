package bench

import (
	"strconv"
	"strings"
	"time"

	"github.com/parley-dev/parley/agent"
	"github.com/parley-dev/parley/agent/message"
)

const (
	digits   = "0123456789abcdefghijklmnopqrstuvwxyz"
	tokenLen = 5 // four digits and a space
	// stampLen is "@" and the microseconds since the epoch, in this century.
	stampLen = 17
	// maxGrow bounds how many tokens room is made for at once.
	maxGrow = 1 << 16
)

// speak calls the fake model with the thread's messages and appends its answer.
func speak(ctx agent.Context, s state) (agent.Update, error) {
	answer, err := stream(ctx, newestHuman(s.Messages))
	if err != nil {
		return nil, err
	}
	return agent.Set("messages", []message.Message{answer}), nil
}

// stream is the fake model. All tokens are slices of one text, so that the loop
// allocates nothing of its own.
func stream(ctx agent.Context, prompt string) (message.Message, error) {
	p := paramsOf(prompt)
	if err := wait(ctx, p.startDelay); err != nil {
		return message.Message{}, err
	}
	out := agent.StreamMessage(ctx, agent.MessageOptions{})
	var text strings.Builder
	size := tokenLen
	if p.stamp {
		size += stampLen
	}
	text.Grow(min(p.tokens, maxGrow) * size)
	var scratch [tokenLen + stampLen + 8]byte
	var first time.Time
	if p.interval > 0 {
		first = ctx.Now()
	}
	for i := range p.tokens {
		if p.interval > 0 {
			// A schedule, not a pause: a late token doesn't delay the rest.
			if err := wait(ctx, time.Duration(i)*p.interval-ctx.Now().Sub(first)); err != nil {
				return message.Message{}, err
			}
		} else if i%64 == 0 && ctx.Err() != nil {
			return message.Message{}, ctx.Err()
		}
		from := text.Len()
		text.Write(appendToken(scratch[:0], i, p.stamp, ctx))
		// What the builder holds never changes, so a token shares its bytes.
		out.Chunk(message.Chunk{Text: text.String()[from:]})
	}
	return out.Finish(), nil
}

// appendToken appends token i: its number in base 36, padded to four digits, the time if stamped, and a space.
func appendToken(b []byte, i int, stamp bool, clock interface{ Now() time.Time }) []byte {
	const base = len(digits)
	if high := i / (base * base * base * base); high > 0 {
		b = strconv.AppendInt(b, int64(high), base)
	}
	b = append(b,
		digits[i/(base*base*base)%base],
		digits[i/(base*base)%base],
		digits[i/base%base],
		digits[i%base])
	if stamp {
		b = append(b, '@')
		b = strconv.AppendInt(b, clock.Now().UnixMicro(), 10)
	}
	return append(b, ' ')
}

func wait(ctx agent.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	return ctx.Sleep(d)
}
