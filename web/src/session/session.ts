// Who uses the app, and what they may do.
import { useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { ApiError, onSignedOut, request } from "../api/request";

export interface Session {
  /** The identity that the server's audit log shows; "anonymous" where it asks nobody. */
  principal: string;
  display_name: string;
  kind: string;
  project_id: string;
  roles: string[];
  /** What the roles amount to. */
  can: { read: boolean; run: boolean; decide: boolean; own: boolean };
}

export const sessionPath = "/api/v1/session";

/** The session; null while nobody has signed in to a server that wants it. */
async function read(): Promise<Session | null> {
  try {
    return await request<Session>(sessionPath);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

const key = ["session"];

export function useSession() {
  const queries = useQueryClient();
  useEffect(() => onSignedOut(() => queries.setQueryData(key, null)), [queries]);
  return useQuery({ queryKey: key, queryFn: read, staleTime: Infinity });
}

/** The project of the session, whose reviews, executions and audit the pages show. */
export function useProject(): string {
  return useSession().data?.project_id ?? "default";
}

/** Has the browser keep a key or token as a cookie that no script can read. */
export const adopt = (credential: string) => request(sessionPath, { method: "POST", body: { credential } });

/** Forgets what the one before could see. */
function become(queries: QueryClient, session: Session | null): void {
  queries.removeQueries({ predicate: (query) => query.queryKey[0] !== key[0] });
  queries.setQueryData(key, session);
}

export function useSignIn() {
  const queries = useQueryClient();
  return async (secret: string) => {
    await adopt(secret);
    become(queries, await read());
  };
}

export function useSignOut() {
  const queries = useQueryClient();
  return async () => {
    await request(sessionPath, { method: "DELETE" });
    become(queries, null);
  };
}
