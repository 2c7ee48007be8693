import { useSyncExternalStore } from "react";

const query = matchMedia("(width >= 1100px)");

/** Whether there is room for two things side by side. */
export const useWide = () =>
  useSyncExternalStore(
    (listener) => {
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => query.matches,
  );
