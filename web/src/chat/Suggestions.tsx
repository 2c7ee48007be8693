import { Button } from "../ui/Button";
import { useWords } from "../words/words";
import { agentTitle, type Agent } from "./agents";
import css from "./Conversation.module.css";

/** Things to ask the agents that every server has for a first look. */
const samples: Record<string, string[]> = {
  approval: ["Refund order 4711"],
  human_in_the_loop: ["Delete record A-17 and transfer 250 EUR to Grace", "Ask me: Which colour do you want?"],
  human_in_the_loop_per_call: ["Delete record A-17 and transfer 250 EUR to Grace"],
  hitl_interrupt_forms: ["Refund order 4711, 240 EUR", "Book a flight from Berlin to Lisbon on 2026-12-24", "Publish: We open at nine"],
  echo: ["Hello, can you hear me?"],
};

/** The start of a conversation. */
export function Suggestions({ agent, onSend }: { agent: Agent; onSend(text: string): void }) {
  const words = useWords();
  return (
    <div className={css.greeting}>
      <h2>{words.chat.greeting}</h2>
      <p className={css.muted}>{agent.description ?? words.chat.greetingLead(agentTitle(agent))}</p>
      <ul className={css.samples}>
        {(samples[agent.graph_id] ?? []).map((text) => <li key={text}><Button onClick={() => onSend(text)}>{text}</Button></li>)}
      </ul>
    </div>
  );
}
