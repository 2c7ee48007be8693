import type { BaseMessage } from "@langchain/core/messages";
import { useLocale, useWords } from "../../words/words";
import { usageOf } from "../messages/usage";
import css from "./Inspector.module.css";

/** The tokens that the conversation's answers took, as the models reported them. */
export function Usage({ messages }: { messages: BaseMessage[] }) {
  const words = useWords();
  const number = new Intl.NumberFormat(useLocale());
  const used = messages.flatMap((m) => {
    const usage = usageOf(m);
    return usage ? [{ id: m.id, name: m.text.slice(0, 60) || (m.name ?? words.chat.agent), usage }] : [];
  });
  const sum = (key: "input_tokens" | "output_tokens" | "total_tokens") => number.format(used.reduce((n, u) => n + (u.usage[key] ?? 0), 0));
  return (
    <>
      <dl className={css.numbers}>
        <dt>{words.inspector.input}</dt><dd>{sum("input_tokens")}</dd>
        <dt>{words.inspector.output}</dt><dd>{sum("output_tokens")}</dd>
        <dt><strong>{words.inspector.total}</strong></dt><dd><strong>{sum("total_tokens")}</strong></dd>
      </dl>
      {used.length > 0 ? <h3>{words.inspector.byMessage}</h3> : null}
      <dl className={css.numbers}>
        {used.map(({ id, name, usage }) => (
          <div key={id} style={{ display: "contents" }}><dt>{name}</dt><dd>{words.chat.usageDetail(number.format(usage.input_tokens), number.format(usage.output_tokens))}</dd></div>
        ))}
      </dl>
    </>
  );
}
