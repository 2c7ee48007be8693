// Radix' dialog as a box in the middle or a sheet at the side.
import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import type { ReactNode } from "react";
import { useWords } from "../words/words";
import { IconButton } from "./Button";
import css from "./Panel.module.css";

interface Props {
  open: boolean;
  onOpenChange(open: boolean): void;
  title: string;
  lead?: string;
  side?: "left" | "right";
  children: ReactNode;
}

export function Panel({ open, onOpenChange, title, lead, side, children }: Props) {
  const words = useWords();
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Overlay className={css.overlay} />
        <Dialog.Content className={side ? `${css.sheet} ${css[side]}` : css.box} {...(lead ? {} : { "aria-describedby": undefined })}>
          <header className={css.head}>
            <Dialog.Title asChild><h2>{title}</h2></Dialog.Title>
            <Dialog.Close asChild><IconButton label={words.app.close}><X size={18} /></IconButton></Dialog.Close>
          </header>
          {lead ? <Dialog.Description className={css.lead}>{lead}</Dialog.Description> : null}
          <div className={css.body}>{children}</div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
