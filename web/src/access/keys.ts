// The project's API keys.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { request } from "../api/request";
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
    async mutationFn(key: NewKey) {
      const made = await request<Key>(path(project), { body: key });
      // With its first key the server begins to ask who is there; whoever made it goes on with it.
      if (anonymous && made.key) await adopt(made.key);
      return made;
    },
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
