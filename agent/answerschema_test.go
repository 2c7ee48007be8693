package agent

import (
	"encoding/json"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type (
	verdict struct {
		signature
		Approved bool              `json:"approved"`
		Cents    *int              `json:"cents,omitempty"`
		Tags     []string          `json:"tags"`
		Limits   map[string]uint8  `json:"limits"`
		At       time.Time         `json:"at"`
		Raw      json.RawMessage   `json:"raw"`
		Quoted   int               `json:"quoted,string"`
		Next     *verdict          `json:"next"`
		Hidden   chan int          `json:"-"`
		Any      any               `json:"any"`
		Pairs    [][2]float64      `json:"pairs"`
		ByLevel  map[level]verdict `json:"by_level"`
	}
	signature struct {
		By string `json:"by"`
	}
	level string
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *level) UnmarshalText(b []byte) error { *l = level(b); return nil }

// What the schema accepts decodes, and what it refuses doesn't, but for null, which is no answer.
func TestAnswerSchemaAcceptsWhatDecodes(t *testing.T) { // D-35
	t.Parallel()
	for _, c := range []struct {
		typ    reflect.Type
		fits   []string
		others []string
	}{
		{reflect.TypeFor[bool](), []string{`true`}, []string{`"yes"`, `1`, `{}`}},
		{reflect.TypeFor[int](), []string{`7`, `-7`}, []string{`"seven"`, `7.5`, `[7]`}},
		{reflect.TypeFor[uint](), []string{`7`}, []string{`-7`}},
		{reflect.TypeFor[float64](), []string{`7`, `7.5`}, []string{`"7"`}},
		{reflect.TypeFor[string](), []string{`"a"`}, []string{`7`, `["a"]`}},
		{reflect.TypeFor[*string](), []string{`"a"`, `null`}, []string{`7`}},
		{reflect.TypeFor[level](), []string{`"high"`}, []string{`7`}},
		{reflect.TypeFor[[]string](), []string{`[]`, `["a",null]`}, []string{`"a"`, `[1]`}},
		{reflect.TypeFor[map[string]int](), []string{`{}`, `{"a":1}`}, []string{`[]`, `{"a":"b"}`}},
		{reflect.TypeFor[verdict](), []string{
			`{}`, `{"approved":true,"extra":1}`, `{"approved":null}`, `{"cents":null,"tags":null}`, `{"by":"Ada"}`,
			`{"at":"2026-01-02T03:04:05Z"}`, `{"raw":[1]}`, `{"quoted":"7"}`, `{"next":{"approved":true}}`, `{"any":1}`,
			`{"pairs":[[1,2.5]]}`, `{"limits":{"a":1}}`, `{"by_level":{"high":{"approved":true}}}`,
		}, []string{
			`"yes"`, `[]`, `{"approved":"yes"}`, `{"cents":"1"}`, `{"cents":1.5}`, `{"tags":"a"}`, `{"tags":[1]}`, `{"by":7}`,
			`{"limits":{"a":-1}}`, `{"pairs":[1]}`, `{"by_level":[]}`,
		}},
	} {
		schema := answerSchema(c.typ)
		require.NotNil(t, schema, c.typ)
		q := InterruptInfo{ID: "q", ResponseSchema: schema}
		for _, answer := range c.fits {
			require.Empty(t, answerIssues(q, json.RawMessage(answer)), "%s %s", c.typ, answer)
			require.NoError(t, json.Unmarshal([]byte(answer), reflect.New(c.typ).Interface()), "%s %s", c.typ, answer)
		}
		for _, answer := range c.others {
			require.NotEmpty(t, answerIssues(q, json.RawMessage(answer)), "%s %s", c.typ, answer)
			require.Error(t, json.Unmarshal([]byte(answer), reflect.New(c.typ).Interface()), "%s %s", c.typ, answer)
		}
	}
}

func TestTypesThatTakeAnythingHaveNoAnswerSchema(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[time.Time](),
		reflect.TypeFor[json.Number](), reflect.TypeFor[[]byte](),
	} {
		require.Nil(t, answerSchema(typ), typ)
	}
}

func TestARefusedAnswerSaysWhatIsWrong(t *testing.T) { // D-35
	t.Parallel()
	var issues []Issue
	for i := range 7 {
		issues = append(issues, Issue{Path: "/values/" + strconv.Itoa(i), Message: "too small"})
	}
	require.Equal(t, "values/0: too small", inWords(issues[:1]))
	require.Equal(t, "missing property", inWords([]Issue{{Message: "missing property"}}))
	require.Equal(t, "values/0: too small; values/1: too small; values/2: too small; values/3: too small; values/4: too small; and 2 more", inWords(issues))
}
