import { Suspense, useState, type ReactNode } from "react";
import { IconButton } from "./Button";

interface Props {
  label: string;
  icon: ReactNode;
  className?: string | undefined;
  /** Fetches what the button opens, as soon as somebody seems to want it. */
  prepare(): Promise<unknown>;
  /** The menu, with a button of its own in this one's place. */
  children: ReactNode;
}

/** The button of a menu whose code is fetched when it is first pressed. */
export function OnDemand({ label, icon, className, prepare, children }: Props) {
  const [wanted, setWanted] = useState(false);
  const ahead = () => void prepare().catch(() => {}); // a press tries again
  const button = (
    <IconButton label={label} className={className} aria-haspopup="menu" aria-expanded={false} onPointerEnter={ahead} onFocus={ahead} onClick={() => setWanted(true)}>{icon}</IconButton>
  );
  return wanted ? <Suspense fallback={button}>{children}</Suspense> : button;
}
