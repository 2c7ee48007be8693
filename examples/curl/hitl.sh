#!/bin/sh
# A run that asks a person, with nothing but curl: start it and watch it stream,
# see the question, answer it together with a state update, read the state.
#
#   go run ./cmd/parley serve &
#   sh examples/curl/hitl.sh http://localhost:2024 [approve|reject]
set -eu

base=${1:?usage: hitl.sh BASE_URL [approve|reject]}
base=${base%/}
decision=${2:-approve}

say() { printf '\n== %s\n' "$*"; }

# post PATH BODY sends JSON; -N shows a stream as it comes.
post() { curl -sSN --fail-with-body -X POST -H 'Content-Type: application/json' -d "$2" "$base$1"; }

# field NAME prints the first string of that name in the JSON on standard input.
field() { tr -d '\n' | sed -n "s/.*\"$1\":[[:space:]]*\"\([^\"]*\)\".*/\1/p"; }

say 'A thread'
thread=$(post /threads '{}' | field thread_id)
[ -n "$thread" ] || { echo "no thread: is the server up at $base?" >&2; exit 1; }
echo "thread_id: $thread"

say 'A run: watch the proposal stream, then the question (__interrupt__)'
post "/threads/$thread/runs/stream" '{
  "assistant_id": "approval",
  "input": {"messages": [{"type": "human", "id": "request-1", "content": "Refund order 4711"}]},
  "stream_mode": ["messages-tuple", "updates"]
}'

say 'The question is in the state: it waits there as long as it takes'
state=$(curl -sS --fail-with-body "$base/threads/$thread/state")
interrupt=$(printf '%s' "$state" | tr -d '\n' | sed -n 's/.*"interrupts":[[:space:]]*\[{"id":[[:space:]]*"\([0-9a-f]*\)".*/\1/p')
[ -n "$interrupt" ] || { echo "no open interrupt in: $state" >&2; exit 1; }
echo "interrupt id: $interrupt"

say "The answer ($decision), with a message for the conversation: one command, one checkpoint"
post "/threads/$thread/runs/stream" '{
  "assistant_id": "approval",
  "command": {
    "resume": {"'"$interrupt"'": {"decisions": [{"type": "'"$decision"'"}]}},
    "update": {"messages": [{"type": "human", "id": "review-note-1", "content": "Seen by the duty manager."}]}
  },
  "stream_mode": ["messages-tuple", "updates"]
}'

say 'The final state'
state=$(curl -sS --fail-with-body "$base/threads/$thread/state")
printf '%s\n' "$state"

notes=$(printf '%s' "$state" | tr '{' '\n' | grep -c '"id":[[:space:]]*"review-note-1"' || true)
[ "$notes" = 1 ] || { echo "the note is in the conversation $notes times, not once" >&2; exit 1; }
case $state in
*'"next":[]'*) say 'Finished; the note is in the conversation exactly once' ;;
*) echo 'the run has not finished' >&2; exit 1 ;;
esac
