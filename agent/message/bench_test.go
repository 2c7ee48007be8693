package message

import (
	"encoding/json"
	"fmt"
	"testing"
)

func longList(n int) List { return New(numbered(0, n)...) }

// A turn's append must cost the same whatever the list holds.
func BenchmarkReduceAppend(b *testing.B) {
	for _, n := range []int{10, 2000, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			old := longList(n)
			old.Find("m0") // as the turn before has left it
			b.ReportAllocs()
			l := old
			i := 0
			for b.Loop() {
				if i++; i%100 == 0 {
					l = old.Append(numbered(n+i, 1)...)
				}
				next, err := Reduce(l, json.RawMessage(fmt.Sprintf(`[{"type":"human","id":"x%d","content":"hello"}]`, i)), nil)
				if err != nil {
					b.Fatal(err)
				}
				l = next
			}
		})
	}
}

func BenchmarkMarshal2000(b *testing.B) {
	l := longList(2000)
	buf := l.AppendJSON(nil)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf = l.AppendJSON(buf[:0])
	}
}

func BenchmarkDecode(b *testing.B) {
	l := longList(2000)
	b.ReportAllocs()
	for b.Loop() {
		for range l.All() {
		}
	}
}

// The first look-up in a list that was just loaded.
func BenchmarkIndex2000(b *testing.B) {
	store := newStore()
	l := longList(2000)
	store.put(b, l.Since(Ref{}))
	b.ReportAllocs()
	for b.Loop() {
		loaded, err := Load(l.Ref(), false, store.get)
		if err != nil {
			b.Fatal(err)
		}
		loaded.Find("m7")
	}
}
