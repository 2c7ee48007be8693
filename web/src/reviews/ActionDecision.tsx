import { useEffect, useState } from "react";
import { spelt } from "../approval/Arguments";
import { ownDescription, runsIt, type Decision } from "../approval/decisions";
import type { Action, DecisionType } from "../approval/question";
import { WholeArguments } from "../approval/WholeArguments";
import { Diff } from "../json/Diff";
import { SchemaForm } from "../schemaform/SchemaForm";
import { inferred, typeOf, type Json } from "../schemaform/schema";
import { validate } from "../schemaform/validate";
import { TextArea } from "../ui/Field";
import { useWords } from "../words/words";
import { DecisionList } from "./DecisionList";
import css from "./ReviewRequest.module.css";

interface Props {
  action: Action;
  /** It is the only one, so the decision needs no name in front. */
  alone: boolean;
  decision: Decision | undefined;
  issues: Map<string, string>;
  onDecide(decision: Decision | undefined): void;
}

/** One tool call: what it will do, and what is decided about it. */
export function ActionDecision({ action, alone, issues, onDecide }: Props) {
  const words = useWords();
  const [type, setType] = useState<DecisionType | undefined>(undefined);
  const [message, setMessage] = useState("");
  const [args, setArgs] = useState<Json>(action.args);
  const [edited, setEdited] = useState(false);
  const [whole, setWhole] = useState(false);
  const schema = action.schema ?? inferred(action.args);
  const own = edited ? validate(args, schema, words) : new Map<string, string>();

  /** Tells the form what is decided as it stands; undefined while something is missing. */
  function tell(next: DecisionType | undefined, text: string, value: Json) {
    if (next === "approve") onDecide({ type: next });
    else if (next === "reject") onDecide({ type: next, ...(text.trim() ? { message: text.trim() } : {}) });
    else if (next === "respond") onDecide(text.trim() ? { type: next, message: text.trim() } : undefined);
    else if (next === "edit") onDecide(validate(value, schema, words).size === 0 ? { type: next, name: action.name, args: value } : undefined);
    else onDecide(undefined);
  }
  // The window may have changed since.
  const unseen = type !== undefined && runsIt(type) && !whole;
  useEffect(() => {
    if (unseen) setType(undefined);
    if (unseen) onDecide(undefined);
  }, [unseen]);
  const description = ownDescription(action);
  const formed = typeOf(schema) === "object" && schema.properties !== undefined;
  return (
    <section className={css.action} aria-label={action.name}>
      <h3 className={css.name}><code>{action.name}</code></h3>
      {description ? <p className={css.reason}>{spelt(description)}</p> : null}
      <WholeArguments value={action.args} onWhole={setWhole} />
      <DecisionList label={alone ? words.review.decision : words.review.decisionFor(action.name)} value={type}
        options={action.allowed.map((d) => ({ value: d, text: words.approval[d], disabled: runsIt(d) && !whole }))}
        onChange={(next) => { setType(next); tell(next, message, args); }} />
      {type === "reject" || type === "respond" ? (
        <TextArea label={type === "reject" ? words.approval.rejectReason : words.approval.respondLabel} value={message} onChange={(t) => { setMessage(t); tell(type, t, args); }} />
      ) : null}
      {type === "edit" ? (
        <>
          {formed || action.schema ? (
            <SchemaForm schema={schema} value={args} errors={own.size > 0 ? own : issues} onChange={(v) => { setArgs(v); setEdited(true); tell("edit", message, v); }} />
          ) : null}
          <Diff before={action.args} after={args} />
        </>
      ) : null}
    </section>
  );
}
