import type { ComponentProps } from "react";
import css from "./Button.module.css";

export type ButtonKind = "plain" | "primary" | "good" | "bad" | "quiet";

interface Props extends ComponentProps<"button"> {
  kind?: ButtonKind;
  small?: boolean;
}

export function Button({ kind = "plain", small, className, type = "button", ...rest }: Props) {
  return <button type={type} className={[css.button, css[kind], small && css.small, className].filter(Boolean).join(" ")} {...rest} />;
}

/** A link to another server's page, or to one that sends people there, that looks like a button. */
export function LinkButton({ kind = "plain", className, ...rest }: ComponentProps<"a"> & { kind?: ButtonKind }) {
  return <a className={[css.button, css[kind], className].filter(Boolean).join(" ")} {...rest} />;
}

/** A button that shows only an icon; its label is read out and shown as a tooltip. */
export function IconButton({ label, className, type = "button", ...rest }: ComponentProps<"button"> & { label: string }) {
  return <button type={type} aria-label={label} title={label} className={[css.icon, className].filter(Boolean).join(" ")} {...rest} />;
}
