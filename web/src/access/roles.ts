// The roles that a key may have. None includes another one; all can read, and owner is everything.

/** What a reviewer may be bound to: an agent, or one of its tools ("" is all of them). */
export interface Scope {
  agent: string;
  tool: string;
}

export interface ChosenRoles {
  viewer: boolean;
  operator: boolean;
  reviewer: boolean;
  owner: boolean;
  /** What the reviewer decides; empty: everything. */
  scopes: Scope[];
  /** Whose escalated reviews the reviewer decides, too: names, with commas between them. */
  teams: string;
}

/** Whether a role can name the scope: there is an agent, without the mark that parts it from the tool. */
export const nameable = ({ agent }: Scope): boolean => agent.trim() !== "" && !agent.includes("/");

/** The roles in the server's spelling, each once. */
export function roleNames(chosen: ChosenRoles): string[] {
  if (chosen.owner) return ["owner"];
  const reviewer = chosen.scopes.length === 0 ? ["reviewer"] : chosen.scopes.map(scopeName);
  return [...new Set([...(chosen.viewer ? ["viewer"] : []), ...(chosen.operator ? ["operator"] : []), ...(chosen.reviewer ? [...reviewer, ...teamNames(chosen.teams)] : [])])];
}

const teamNames = (teams: string) => teams.split(/[,，]/).map((t) => t.trim()).filter((t) => t !== "").map((t) => `team:${t}`);
const scopeName = ({ agent, tool }: Scope) => `reviewer:${agent.trim()}${tool.trim() ? `/${tool.trim()}` : ""}`;
