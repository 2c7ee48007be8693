// The agents that the server offers.
import { useQuery } from "@tanstack/react-query";
import { request } from "../api/request";

export interface Agent {
  assistant_id: string;
  graph_id: string;
  name: string;
  description: string | null;
}

const readAgents = () => request<Agent[]>("/assistants/search", { body: { limit: 200, sort_by: "created_at", sort_order: "asc" } });

export const useAgents = () => useQuery({ queryKey: ["agents"], queryFn: readAgents, staleTime: 60_000 });

/** An agent's name as people read it. */
export const agentTitle = (agent: Pick<Agent, "name" | "graph_id">) => (agent.name || agent.graph_id).replaceAll("_", " ");
