// Content of which all has to be seen: as long as a part is cut off, nothing may be approved
// (spec/demand.md D-105).
import { createContext, useContext, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { Button } from "../ui/Button";
import { useWords } from "../words/words";
import css from "./Whole.module.css";

/** Whether what stands around a decision, and has a Whole of its own, can be seen in full. */
export const InSight = createContext(true);
export const useInSight = () => useContext(InSight);

interface Props {
  /** Told whether a part can't be seen. */
  onCutOff(cut: boolean): void;
  children: ReactNode;
}

export function Whole({ onCutOff, children }: Props) {
  const words = useWords();
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const [cut, setCut] = useState(false);
  const tell = useRef(onCutOff);
  tell.current = onCutOff;

  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => {
      const now = element.scrollHeight > element.clientHeight + 1;
      setCut(now);
      tell.current(now);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [open]);

  return (
    <div className={css.whole}>
      <div ref={box} className={open ? css.open : css.closed} data-cut={cut || undefined}>{children}</div>
      {cut ? (
        <div className={css.more}>
          <Button small onClick={() => setOpen(true)}>{words.approval.showAll}</Button>
          <small>{words.approval.cutOff}</small>
        </div>
      ) : null}
    </div>
  );
}
