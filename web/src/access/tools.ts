// The tools of an agent, as far as it has asked about them.
import { useQuery } from "@tanstack/react-query";
import { request } from "../api/request";
import { reviewsPath, type Review } from "../reviews/reviews";
import { useProject } from "../session/session";

export function useKnownTools(agent: string): string[] {
  const project = useProject();
  const found = useQuery({
    queryKey: ["tools", project, agent],
    queryFn: async () => {
      const query = new URLSearchParams({ agent, limit: "200" });
      const { reviews } = await request<{ reviews: Pick<Review, "tools">[] }>(`${reviewsPath(project)}?${query}`);
      return [...new Set(reviews.flatMap((r) => r.tools))].sort();
    },
    enabled: agent !== "",
    staleTime: 60_000,
  });
  return found.data ?? [];
}
