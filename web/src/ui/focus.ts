// Keeps the focus near: what has it may be gone once it was pressed, and the keyboard would begin anew at the page's top.
import { useLayoutEffect, useRef, type FocusEvent, type RefObject } from "react";

const focusable = "button:not(:disabled), input:not(:disabled), textarea:not(:disabled), select:not(:disabled), a[href], [tabindex='-1']";

/** Whether the focus is in an element, or was when what had it disappeared; on goes to the element. */
export function useFocusWithin() {
  const within = useRef(false);
  const on = {
    onFocus: () => {
      within.current = true;
    },
    onBlur: (event: FocusEvent<HTMLElement>) => {
      const to = event.relatedTarget;
      if (to ? !event.currentTarget.contains(to) : !(event.target as HTMLElement).matches(":disabled")) within.current = false;
    },
  };
  return { within, on };
}

const lost = () => document.activeElement === null || document.activeElement === document.body;

/** Moves the focus to the element's first control of those that a step brings, if it was on one that went with the step before. */
export function useFocusKept(box: RefObject<HTMLElement | null>, within: RefObject<boolean>, step: string, selector = focusable): void {
  useLayoutEffect(() => {
    if (within.current && lost()) box.current?.querySelector<HTMLElement>(selector)?.focus();
  }, [box, within, step, selector]);
}

/** Where to go on from an element that disappears with the focus in it. */
export function useFocusAfter(within: RefObject<boolean>, next: () => HTMLElement | null | undefined): void {
  const latest = useRef(next);
  latest.current = next;
  useLayoutEffect(
    () => () => {
      // A keyboard on the screen would be in the way of what comes.
      if (!within.current || !matchMedia("(pointer: fine)").matches) return;
      queueMicrotask(() => {
        if (lost()) latest.current()?.focus();
      });
    },
    [within],
  );
}
