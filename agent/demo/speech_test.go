package demo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/agent/message"
)

func TestSentencesHaveACapitalAndOneFullStop(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Über alles.", sentence("über alles"))
	require.Equal(t, "No.", sentence("no."))
}

func TestTheNewestHumanMessageIsTheRequest(t *testing.T) {
	t.Parallel()
	require.Empty(t, newestRequest(message.New()))
	require.Empty(t, newestRequest(message.New(message.NewHuman("  \n"))))
	require.Equal(t, "Pay it", newestRequest(message.New(
		message.NewHuman("Hello"), message.NewHuman(" Pay it\n"), message.NewAI("I will"))))
}
