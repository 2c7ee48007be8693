// The keyboard of the list: j and k move, a approves and r rejects what stands beside it, Enter opens it.
import { useEffect, useRef } from "react";
import type { Review } from "./reviews";

/** What has keys of its own. */
const busy = "input:not([type=checkbox], [type=radio]), textarea, select, [role=dialog], [role=menu]";

export function useListKeys(list: Review[], current: string | undefined, choose: (id: string) => void, open: (id: string) => void): void {
  const handle = (event: KeyboardEvent) => {
    const at = event.target instanceof HTMLElement ? event.target : document.body;
    if (at.closest(busy) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const index = list.findIndex((r) => r.review_id === current);
    switch (event.key) {
      case "j":
      case "k": {
        const next = list[Math.min(list.length - 1, Math.max(0, index + (event.key === "j" ? 1 : -1)))];
        if (!next) return;
        choose(next.review_id);
        document.querySelector<HTMLElement>(`[data-review="${next.review_id}"]`)?.focus();
        break;
      }
      case "a":
      case "r":
        // The shortcut is the page's own button or choice: what that does not allow can't be done here either.
        document.querySelector<HTMLElement>(`[data-review-detail] [data-shortcut="${event.key}"]:not(:disabled)`)?.click();
        break;
      case "Enter":
        if (!current || !(at === document.body || at.closest("[data-review]"))) return;
        open(current);
        break;
      default:
        return;
    }
    event.preventDefault();
  };
  // Wherever the focus is: one comes here to go through the list.
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => latest.current(event);
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, []);
}
