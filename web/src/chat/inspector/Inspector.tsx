// The agent's state behind the conversation, its checkpoints, and what it used.
import { Tabs } from "radix-ui";
import { JsonView } from "../../json/JsonView";
import { Panel } from "../../ui/Panel";
import { useWords } from "../../words/words";
import { useStateAt } from "../branches/stateAt";
import type { Branches } from "../branches/useBranches";
import type { ChatStream } from "../stream/useChatStream";
import { CheckpointList } from "./CheckpointList";
import { EditState } from "./EditState";
import css from "./Inspector.module.css";
import { Usage } from "./Usage";
import { useState } from "react";

interface Props {
  stream: ChatStream;
  branches: Branches;
  onClose(): void;
}

export function Inspector({ stream, branches, onClose }: Props) {
  const words = useWords();
  const [at, setAt] = useState<string | undefined>(undefined);
  const threadId = stream.threadId ?? undefined;
  const shown = at ?? branches.newest;
  const state = useStateAt(threadId, shown || undefined);
  return (
    <Panel open side="right" onOpenChange={onClose} title={words.inspector.title}>
      <Tabs.Root defaultValue="state" className={css.tabs}>
        <Tabs.List className={css.list} aria-label={words.inspector.title}>
          <Tabs.Trigger value="state">{words.inspector.state}</Tabs.Trigger>
          <Tabs.Trigger value="checkpoints">{words.inspector.checkpoints}</Tabs.Trigger>
          <Tabs.Trigger value="usage">{words.inspector.usage}</Tabs.Trigger>
        </Tabs.List>
        <Tabs.Content value="state" className={css.panel}>
          {state.data ? (
            <>
              {state.data.next.length > 0 ? <p>{words.inspector.next}: {state.data.next.map((n) => <code key={n}>{n} </code>)}</p> : null}
              <JsonView value={state.data.values} label={words.inspector.state} open={3} />
              <details><summary>{words.inspector.metadata}</summary><JsonView value={state.data.metadata} label={words.inspector.metadata} /></details>
              {at === undefined && threadId ? <EditState threadId={threadId} onWritten={onClose} /> : null}
            </>
          ) : <p>{state.isLoading ? words.app.loading : words.inspector.empty}</p>}
        </Tabs.Content>
        <Tabs.Content value="checkpoints" className={css.panel}>
          <CheckpointList threadId={threadId} shown={shown} running={stream.isLoading} onInspect={setAt}
            onShow={(id) => { branches.show(id, true); onClose(); }} onRerun={(id) => { onClose(); void branches.rerun(id); }} />
        </Tabs.Content>
        <Tabs.Content value="usage" className={css.panel}><Usage messages={stream.messages} /></Tabs.Content>
      </Tabs.Root>
    </Panel>
  );
}
