import { ChevronLeft, ChevronRight } from "lucide-react";
import { IconButton } from "../../ui/Button";
import { useWords } from "../../words/words";
import css from "../messages/messages.module.css";
import type { ForkPoint } from "./useForkPoints";

/** Goes through the versions that begin with a message. */
export function VersionSwitch({ point, onShow }: { point: ForkPoint; onShow(checkpoint: string): void }) {
  const words = useWords();
  const { options, chosen } = point;
  return (
    <span className={css.versions}>
      <IconButton label={words.chat.previous} disabled={chosen <= 0} onClick={() => onShow(options[chosen - 1]!)}><ChevronLeft size={15} /></IconButton>
      <span aria-label={words.chat.version(chosen + 1, options.length)} role="img">{chosen + 1}/{options.length}</span>
      <IconButton label={words.chat.next} disabled={chosen >= options.length - 1} onClick={() => onShow(options[chosen + 1]!)}><ChevronRight size={15} /></IconButton>
    </span>
  );
}
