import type { ReactNode } from "react";
import css from "./Page.module.css";

interface Props {
  title: string;
  /** The way back, above the title. */
  back?: ReactNode;
  actions?: ReactNode;
  /** Stays above what is scrolled. */
  filters?: ReactNode;
  /** As wide as the window instead of as wide as a text. */
  wide?: boolean;
  children: ReactNode;
}

export function Page({ title, back, actions, filters, wide, children }: Props) {
  return (
    <div className={css.page}>
      <header className={css.head}>
        <div className={css.titles}>{back}<h1>{title}</h1></div>
        {actions ? <div className={css.actions}>{actions}</div> : null}
        {filters ? <div className={css.filters}>{filters}</div> : null}
      </header>
      <div className={wide ? css.wide : css.body}>{children}</div>
    </div>
  );
}
