import { useEffect, useState } from "react";
import { agentTitle, type Agent } from "../chat/agents";
import { Choice } from "../ui/Choice";
import { TextField } from "../ui/Field";
import { useWords } from "../words/words";
import type { ReviewFilter } from "./reviews";

interface Props {
  filter: ReviewFilter;
  agents: Agent[];
  onChange(filter: ReviewFilter): void;
}

export function ReviewFilters({ filter, agents, onChange }: Props) {
  const words = useWords();
  const [text, setText] = useState(filter.q ?? "");
  useEffect(() => {
    if (text === (filter.q ?? "")) return;
    const timer = setTimeout(() => onChange({ ...filter, q: text || undefined }), 250);
    return () => clearTimeout(timer);
  }, [text, filter, onChange]);
  const set = (change: ReviewFilter) => onChange({ ...filter, ...change });
  return (
    <>
      <TextField bare type="search" label={words.reviews.search} placeholder={words.reviews.search} value={text} onChange={setText} />
      <Choice bare label={words.reviews.agent} value={filter.agent ?? ""} onChange={(v) => set({ agent: v || undefined })}
        options={[["", words.reviews.anyAgent], ...agents.map((a) => [a.graph_id, agentTitle(a)] as const)]} />
      <Choice bare label={words.reviews.status} value={filter.status ?? "open"} onChange={(v) => set({ status: v === "open" ? undefined : v })} options={Object.entries(words.reviews.statuses)} />
      <Choice bare label={words.reviews.minAge} value={filter.min_age ?? ""} onChange={(v) => set({ min_age: v || undefined })} options={Object.entries(words.reviews.ages)} />
      <Choice bare label={words.reviews.assignee} value={filter.assignee ?? ""} onChange={(v) => set({ assignee: v || undefined })} options={[["", words.reviews.anybody], ["me", words.reviews.mine]]} />
    </>
  );
}
