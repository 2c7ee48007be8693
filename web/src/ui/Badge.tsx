import type { ReactNode } from "react";
import css from "./Badge.module.css";

export type BadgeKind = "plain" | "accent" | "wait" | "good" | "bad";

export function Badge({ kind = "plain", children }: { kind?: BadgeKind; children: ReactNode }) {
  return <span className={`${css.badge} ${css[kind]}`}>{children}</span>;
}
