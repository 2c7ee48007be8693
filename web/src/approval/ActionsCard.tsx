// Consent to tool calls: each action is decided on its own, all decisions are sent together.
import { useState } from "react";
import { Button } from "../ui/Button";
import { useWords } from "../words/words";
import { ActionItem } from "./ActionItem";
import css from "./cards.module.css";
import { answerOf, runsIt, type Decision } from "./decisions";
import type { Question } from "./question";
import { issuesBelow } from "./refusal";
import { Refused } from "./Refused";
import type { AnswerProps } from "./useAnswer";

interface Props extends AnswerProps {
  question: Question & { kind: "actions" };
}

export function ActionsCard({ question, sending, barred, refusal, send }: Props) {
  const words = useWords();
  const { actions, perCall } = question;
  const [decisions, setDecisions] = useState<(Decision | undefined)[]>(() => actions.map(() => undefined));
  const [whole, setWhole] = useState<boolean[]>(() => actions.map(() => false));
  const alone = actions.length === 1;
  const decided = decisions.filter((d) => d !== undefined);
  const unseen = decisions.some((d, i) => d && runsIt(d.type) && !whole[i]); // the window has changed since
  const approvable = actions.every((a, i) => a.allowed.includes("approve") && whole[i]);

  function decide(index: number, decision: Decision | undefined) {
    if (alone && decision) return send(answerOf(question, [decision]));
    setDecisions((all) => all.map((old, i) => (i === index ? decision : old)));
  }

  const prefixes = (i: number) =>
    (perCall ? [""] : [`/decisions/${i}`]).flatMap((p) => [`${p}/edited_action/args`, `${p}/editedAction/args`]);
  return (
    <div className={css.body}>
      <ol className={css.actions}>
        {actions.map((action, i) => (
          <ActionItem key={i} action={action} position={alone ? undefined : [i + 1, actions.length]} decision={decisions[i]} sending={sending}
            issues={issuesBelow(refusal, prefixes(i))} whole={whole[i] ?? false}
            onWhole={(now) => setWhole((all) => all.map((old, k) => (k === i ? now : old)))} onDecide={(d) => decide(i, d)} />
        ))}
      </ol>
      <Refused refusal={refusal} />
      {alone ? null : (
        <footer className={css.foot}>
          <span className={css.count}>{words.approval.decided(decided.length, actions.length)}</span>
          {decided.length === 0 && actions.every((a) => a.allowed.includes("approve")) ? (
            <Button disabled={sending || !approvable} onClick={() => setDecisions(actions.map(() => ({ type: "approve" })))}>{words.approval.approveAll}</Button>
          ) : null}
          <Button kind="primary" disabled={sending || decided.length < actions.length || unseen} onClick={() => send(answerOf(question, decided))}>
            {sending && !barred ? words.approval.sending : words.approval.sendAll(actions.length)}
          </Button>
        </footer>
      )}
    </div>
  );
}
