import { Check, MessageSquareReply, PencilLine, X } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../ui/Button";
import { useWords } from "../words/words";
import { Arguments } from "./Arguments";
import css from "./cards.module.css";
import type { Decision } from "./decisions";
import type { Action } from "./question";
import { verdictWords } from "./verdicts";

const icons = { approve: Check, reject: X, edit: PencilLine, respond: MessageSquareReply };

interface Props {
  decision: Decision;
  action: Action | undefined;
  /** Names the call, where nothing around does. */
  named?: boolean;
  /** How an edit is shown, instead of all arguments as they are now. */
  edit?: ReactNode;
  /** Lets the person decide anew; absent on what was sent. */
  onChange?: () => void;
  disabled?: boolean;
}

/** What was decided about an action. */
export function DecisionLine({ decision, action, named, edit, onChange, disabled }: Props) {
  const words = useWords();
  const Icon = icons[decision.type];
  return (
    <div className={`${css.decision} ${css[decision.type]}`}>
      <p className={css.verdict}>
        <Icon size={16} aria-hidden /> {named && action ? <code>{action.name}</code> : null} <strong>{verdictWords(words)[decision.type]}</strong>
        {onChange ? <Button small kind="quiet" onClick={onChange} disabled={disabled}>{words.approval.change}</Button> : null}
      </p>
      {"message" in decision && decision.message ? <p className={css.words}>{decision.message}</p> : null}
      {decision.type === "edit" ? (
        <>
          {action && decision.name !== action.name ? <p><code>{decision.name}</code></p> : null}
          {edit ?? <Arguments value={decision.args} label={words.approval.now} />}
        </>
      ) : null}
    </div>
  );
}
