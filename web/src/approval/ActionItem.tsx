import { Wrench } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Button } from "../ui/Button";
import { useFocusKept, useFocusWithin } from "../ui/focus";
import { useWords } from "../words/words";
import { spelt } from "./Arguments";
import css from "./cards.module.css";
import { ownDescription, runsIt, type Decision } from "./decisions";
import { DecisionLine } from "./DecisionLine";
import type { Action, DecisionType } from "./question";
import { ReasonForm } from "./ReasonForm";
import { WholeArguments } from "./WholeArguments";

const EditAction = lazy(() => import("./EditAction").then((m) => ({ default: m.EditAction })));

interface Props {
  action: Action;
  /** Its number among several. */
  position: [number, number] | undefined;
  decision: Decision | undefined;
  sending: boolean;
  issues: Map<string, string>;
  whole: boolean;
  onWhole(whole: boolean): void;
  onDecide(decision: Decision | undefined): void;
}

export function ActionItem({ action, position, decision, sending, issues, whole, onWhole, onDecide }: Props) {
  const words = useWords();
  const [open, setOpen] = useState<DecisionType | null>(null);
  // What the server refused is put right where it was typed.
  const refused = issues.size > 0;
  useEffect(() => {
    if (refused) setOpen("edit");
  }, [refused]);
  const description = ownDescription(action);

  function decide(next: Decision) {
    onDecide(next);
    if (position && next.type !== "edit") setOpen(null); // one alone is sent at once: what was typed stays until it was taken
  }
  const settled = decision !== undefined && open === null;
  const controls = useRef<HTMLDivElement>(null);
  const { within, on } = useFocusWithin();
  useFocusKept(controls, within, settled ? "settled" : String(open));
  return (
    <li className={css.action} aria-label={action.name}>
      <h4 className={css.name}>
        <Wrench size={15} aria-hidden />
        <code>{action.name}</code>
        {position ? <span className={css.position}>{words.approval.of(...position)}</span> : null}
      </h4>
      {description ? <p className={css.description}>{spelt(description)}</p> : null}
      <WholeArguments value={action.args} onWhole={onWhole} />
      <div ref={controls} className={css.controls} {...on}>
        {settled ? <DecisionLine decision={decision} action={action} onChange={() => onDecide(undefined)} disabled={sending} /> : null}
        {!settled && open === null ? (
          <div className={css.buttons} role="group" aria-label={words.approval.decide(action.name)}>
            {action.allowed.map((type) => (
              <DecisionButton key={type} type={type} disabled={sending || (runsIt(type) && !whole)} onClick={() => (type === "approve" ? decide({ type }) : setOpen(type))} />
            ))}
          </div>
        ) : null}
        {open === "reject" ? (
          <ReasonForm label={words.approval.rejectReason} submit={words.approval.rejectSend} kind="bad" sending={sending} onCancel={() => setOpen(null)}
            onSubmit={(message) => decide({ type: "reject", message })} />
        ) : null}
        {open === "respond" ? (
          <ReasonForm label={words.approval.respondLabel} submit={words.approval.respondSend} required sending={sending} onCancel={() => setOpen(null)}
            onSubmit={(message) => decide({ type: "respond", message })} />
        ) : null}
        {open === "edit" ? (
          <Suspense fallback={<p>{words.app.loading}</p>}>
            <EditAction action={action} from={decision?.type === "edit" ? decision.args : action.args} issues={issues} sending={sending} onCancel={() => setOpen(null)}
            onSubmit={(args) => { decide({ type: "edit", name: action.name, args }); if (position) setOpen(null); }} />
          </Suspense>
        ) : null}
      </div>
    </li>
  );
}

function DecisionButton({ type, disabled, onClick }: { type: DecisionType; disabled: boolean; onClick(): void }) {
  const words = useWords();
  const kinds = { approve: "good", reject: "bad", edit: "plain", respond: "plain" } as const;
  return <Button kind={kinds[type]} disabled={disabled} onClick={onClick}>{words.approval[type]}</Button>;
}
