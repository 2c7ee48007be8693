// Who uses the app, and what they may do.
import { useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { ApiError, request } from "../api/request";
import { readOptions, renew } from "./provider";

export interface Session {
  /** The identity that the server's audit log shows; "anonymous" where it asks nobody. */
  principal: string;
  display_name: string;
  kind: string;
  project_id: string;
  /** The only workspace that the session is for; absent for all of the project's. */
  workspace_id?: string;
  roles: string[];
  /** What the roles amount to. */
  can: { read: boolean; run: boolean; decide: boolean; own: boolean };
  /** When it ends; absent for never. */
  expires_at?: string;
  /** It can be made to last longer. */
  renewable?: boolean;
}

export const sessionPath = "/api/v1/session";

/** The session; null while nobody has signed in to a server that wants it. */
export async function read(): Promise<Session | null> {
  try {
    return await request<Session>(sessionPath, { quiet: true });
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null;
    throw error;
  }
}

export const key = ["session"];

/** read, and, where a provider signs people in, renewal: a page is opened again after its session's end. */
async function begin(): Promise<Session | null> {
  const session = await read();
  if (session) return session;
  const { oidc } = await readOptions();
  return oidc ? renew(null, read) : null;
}

export const useSession = () => useQuery({ queryKey: key, queryFn: begin, staleTime: Infinity });

/** The project of the session, whose reviews, executions and audit the pages show. */
export function useProject(): string {
  return useSession().data?.project_id ?? "default";
}

/** Has the browser keep a key or token as a cookie that no script can read. */
export const adopt = (credential: string) => request(sessionPath, { method: "POST", body: { credential } });

/** Whether the session ended by itself, and not by who used it. */
export const endedKey = ["session", "ended"];

/** Why the server signed nobody in before this page was opened. */
export const failedKey = ["session", "failed"];

/** Forgets what the one before could see. */
function become(queries: QueryClient, session: Session | null): void {
  queries.removeQueries({ predicate: (query) => query.queryKey[0] !== key[0] });
  queries.setQueryData(key, session);
  queries.setQueryData(endedKey, false);
  queries.setQueryData(failedKey, null);
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
    const elsewhere = await request<{ sign_out_url: string } | undefined>(sessionPath, { method: "DELETE" });
    if (elsewhere) return location.assign(elsewhere.sign_out_url); // the provider has a session, too
    become(queries, null);
  };
}
