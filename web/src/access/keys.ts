// The project's API keys.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { changingSession, request } from "../api/request";
import { adopt, useProject, useSession } from "../session/session";

export interface Key {
  id: string;
  /** The key itself; only in the reply that made it. */
  key?: string;
  name: string;
  principal: string;
  workspace_id?: string;
  roles: string[];
  agent: boolean;
  created_at: string;
  created_by?: string;
  expires_at: string | null;
  revoked_at: string | null;
}

export interface NewKey {
  name: string;
  roles: string[];
  agent: boolean;
  workspace_id?: string;
  expires_at?: string;
}

const path = (project: string) => `/api/v1/projects/${encodeURIComponent(project)}/keys`;

export function useKeys() {
  const project = useProject();
  const owner = useSession().data?.can.own ?? false;
  return useQuery({ enabled: owner, queryKey: ["keys", project], queryFn: async () => (await request<{ keys: Key[] }>(path(project))).keys });
}

export function useCreateKey() {
  const project = useProject();
  const queries = useQueryClient();
  const anonymous = useSession().data?.kind === "anonymous";
  return useMutation({
    // With its first key the server begins to ask who is there; whoever made it goes on with it.
    mutationFn: (key: NewKey) => changingSession(async () => {
      const made = await request<Key>(path(project), { body: key });
      if (anonymous && made.key) await goOnWith(made.key);
      return made;
    }),
    onSuccess: () => Promise.all([queries.invalidateQueries({ queryKey: ["session"] }), queries.invalidateQueries({ queryKey: ["keys"] })]),
  });
}

export function useRevokeKey() {
  const project = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => request<Key>(`${path(project)}/${id}`, { method: "DELETE" }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["keys"] }),
  });
}

/** Signs in with the key that was just made. That it exists is more important than that: whoever made it has to see it. */
async function goOnWith(key: string): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    try {
      await adopt(key);
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 400)); // another replica may not know the key yet
    }
  }
}
