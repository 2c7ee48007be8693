// Why a conversation's last run failed, as the server keeps it: the stream tells it only to pages that were there.
import { useQuery } from "@tanstack/react-query";
import { request } from "../../api/request";
import { useThread } from "../threads/threads";

interface State {
  tasks?: { error?: string | null }[];
}

/** The reason, "" for one that isn't known; undefined where nothing failed. Without a threadId nothing is asked. */
export function useStoredFailure(id: string | undefined): string | undefined {
  const { data: thread } = useThread(id);
  const failed = id !== undefined && thread?.status === "error";
  const { data: reason } = useQuery({
    queryKey: ["failure", id, thread?.updated_at],
    queryFn: async () => reasonIn(await request<State>(`/threads/${id}/state`)),
    enabled: failed,
    staleTime: Infinity,
  });
  return failed ? reason : undefined;
}

function reasonIn({ tasks = [] }: State): string {
  const error = tasks.find((task) => task.error)?.error ?? "";
  try {
    const { message } = JSON.parse(error) as { message?: unknown };
    return typeof message === "string" ? message : error;
  } catch {
    return error;
  }
}
