// What happens away from the focus, said to those who hear the page instead of seeing it.
import { createContext, useCallback, useContext, useState, type ReactNode } from "react";
import css from "./hidden.module.css";

const Announce = createContext<(text: string) => void>(() => {});

export function Announcements({ children }: { children: ReactNode }) {
  const [text, setText] = useState("");
  const [turn, setTurn] = useState(false);
  // The same text twice is a change only if it moves to the other region.
  const announce = useCallback((next: string) => {
    setText(next);
    setTurn((t) => !t);
  }, []);
  return (
    <Announce value={announce}>
      {children}
      <div className={css.hidden} aria-live="polite" role="status">{turn ? text : ""}</div>
      <div className={css.hidden} aria-live="polite" role="status">{turn ? "" : text}</div>
    </Announce>
  );
}

/** Says a text once; stable over renders. */
export const useAnnounce = () => useContext(Announce);
