// The conversations, newest first, and what changes them.
import { useInfiniteQuery, useMutation, useQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { request } from "../../api/request";

export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

export interface Thread {
  thread_id: string;
  status: ThreadStatus;
  created_at: string;
  updated_at: string;
  metadata: { assistant_id?: string; graph_id?: string; title?: string };
  extracted?: { first?: unknown };
}

const pageSize = 50;
const selected = ["extracted", "thread_id", "status", "created_at", "updated_at", "metadata"];
const listKey = (status: ThreadStatus | "") => ["threads", status];

export function useThreads(status: ThreadStatus | "") {
  return useInfiniteQuery({
    queryKey: listKey(status),
    queryFn: ({ pageParam }) =>
      request<Thread[]>("/threads/search", {
        body: {
          limit: pageSize, offset: pageParam, sort_by: "updated_at", sort_order: "desc", select: selected,
          extract: { first: "values.messages[0].content" }, ...(status ? { status } : {}),
        },
      }),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.length < pageSize ? undefined : pages.length * pageSize),
  });
}

/** One conversation; an error of status 404 if there is none. */
export function useThread(id: string | undefined) {
  return useQuery({ queryKey: ["thread", id], queryFn: () => request<Thread>(`/threads/${id}`), enabled: id !== undefined, staleTime: 30_000 });
}

/** What a conversation is called: its title, or how it began. */
export function threadTitle(thread: Thread, untitled: string): string {
  return thread.metadata.title || contentText(thread.extracted?.first) || untitled;
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block) => (typeof block?.text === "string" ? block.text : "")).join(" ").trim();
}

/** Reads the lists again: something happened in a conversation. */
export function useThreadsChanged() {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: ["threads"] });
    void queries.invalidateQueries({ queryKey: ["thread"] });
  };
}

export function useRenameThread() {
  const changed = useThreadsChanged();
  return useMutation({
    mutationFn: ({ id, title }: { id: string; title: string }) => request(`/threads/${id}`, { method: "PATCH", body: { metadata: { title } } }),
    onSuccess: changed,
  });
}

export function useDeleteThread() {
  const queries = useQueryClient();
  const changed = useThreadsChanged();
  return useMutation({
    mutationFn: (id: string) => request(`/threads/${id}`, { method: "DELETE" }),
    onSuccess: (_, id) => {
      queries.setQueriesData<InfiniteData<Thread[]>>({ queryKey: ["threads"] }, (data) =>
        data && { ...data, pages: data.pages.map((page) => page.filter((thread) => thread.thread_id !== id)) });
      changed();
    },
  });
}
