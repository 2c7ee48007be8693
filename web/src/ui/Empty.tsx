import type { ReactNode } from "react";
import css from "./Empty.module.css";

/** What stands where there is nothing to show. */
export function Empty({ icon, title, children }: { icon?: ReactNode; title: string; children?: ReactNode }) {
  return (
    <div className={css.empty}>
      {icon}
      <p className={css.title}>{title}</p>
      {children}
    </div>
  );
}
