// What happens away from the focus, said to those who hear the page instead of seeing it.
import { createContext, useCallback, useContext, useRef, useState, type ReactNode } from "react";
import css from "./hidden.module.css";

const Announce = createContext<(text: string) => void>(() => {});

/** How many texts stay: what is said at the same time, by different parts of the page, is all heard. */
const kept = 4;

export function Announcements({ children }: { children: ReactNode }) {
  const [said, setSaid] = useState<{ id: number; text: string }[]>([]);
  const next = useRef(0);
  // Each text is an element of its own, so that the same one twice is heard twice.
  const announce = useCallback((text: string) => {
    const id = next.current++;
    setSaid((before) => [...before.slice(1 - kept), { id, text }]);
  }, []);
  return (
    <Announce value={announce}>
      {children}
      <div className={css.hidden} aria-live="polite" aria-atomic="false" role="status">{said.map(({ id, text }) => <p key={id}>{text}</p>)}</div>
    </Announce>
  );
}

/** Says a text once; stable over renders. */
export const useAnnounce = () => useContext(Announce);
