// Whether the page hears the server, as the SDK's own transport tells it.
import { useMemo, useState, useSyncExternalStore } from "react";

export type Connection =
  | { state: "connected" }
  /** nextTry is when, in ms. */
  | { state: "lost"; attempt: number; nextTry: number };

/** Wait before a try: soon at first, then every ten seconds, for as long as the page is open. */
const delay = (attempt: number) => Math.min(10_000, 250 * 2 ** Math.min(attempt, 6)) * (0.8 + Math.random() * 0.4);

/** The SDK's options for reconnecting, and what they have told so far. */
export function useConnection() {
  const [connection, setConnection] = useState<Connection>({ state: "connected" });
  const options = useMemo(
    () => ({
      maxReconnectAttempts: Infinity,
      reconnectDelayMs: delay,
      onReconnect: ({ attempt, delayMs }: { attempt: number; delayMs?: number }) =>
        setConnection({ state: "lost", attempt, nextTry: Date.now() + (delayMs ?? 0) }),
      onConnected: () => setConnection((old) => (old.state === "connected" ? old : { state: "connected" })),
    }),
    [],
  );
  return { connection, options };
}

const subscribe = (listener: () => void) => {
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
};

export const useOnline = () => useSyncExternalStore(subscribe, () => navigator.onLine);
