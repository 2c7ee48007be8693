// Keeps the session for as long as it lasts: renews it before its end, and notices the end.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { onSignedOut } from "../api/request";
import { renew } from "./provider";
import { endedKey, key, read, useSession, type Session } from "./session";

/** Timers can't wait longer, in ms. */
const longestTimer = 2 ** 31 - 1;

/** When to look after a session, in ms from now: at its end, or a while before if it can be renewed. */
function due(session: Session): number {
  const left = Date.parse(session.expires_at ?? "") - Date.now();
  const wait = session.renewable ? left - Math.min(60_000, left / 4) : left;
  return Math.min(Math.max(wait, 1000), longestTimer);
}

/** To be used once, by what stands around all pages. */
export function useSessionKeeper(): void {
  const queries = useQueryClient();
  const { data: session, dataUpdatedAt } = useSession();
  useEffect(() => {
    const look = async (refused: boolean) => {
      const known = queries.getQueryData<Session | null>(key) ?? null;
      const now = known?.renewable ? await renew(known, read) : await read();
      if (known && !now) queries.setQueryData(endedKey, true);
      queries.setQueryData(key, now);
      // What was refused meanwhile is asked for again.
      if (refused && now) await queries.invalidateQueries({ predicate: ({ queryKey, state }) => queryKey[0] !== key[0] && state.status === "error" });
    };
    const lookNow = (refused: boolean) => void look(refused).catch(() => {}); // out of reach: what is shown says so
    const stop = onSignedOut(() => lookNow(true));
    const timer = session?.expires_at ? setTimeout(lookNow, due(session), false) : undefined;
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [queries, session, dataUpdatedAt]);
}
