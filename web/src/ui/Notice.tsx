import { CircleAlert, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import css from "./Notice.module.css";

interface Props {
  kind?: "info" | "wait" | "bad";
  /** Interrupts a screen reader; for failures. */
  alert?: boolean;
  children: ReactNode;
}

const icons = { info: Info, wait: TriangleAlert, bad: CircleAlert };

export function Notice({ kind = "info", alert, children }: Props) {
  const Icon = icons[kind];
  return (
    <div className={`${css.notice} ${css[kind]}`} role={alert ? "alert" : "status"}>
      <Icon size={17} aria-hidden className={css.icon} />
      <div className={css.text}>{children}</div>
    </div>
  );
}
