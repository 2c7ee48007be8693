import { Badge, type BadgeKind } from "../ui/Badge";
import { useWords } from "../words/words";
import type { ExecutionStatus } from "./executions";

const kinds: Record<ExecutionStatus, BadgeKind> = { pending: "plain", running: "accent", suspended: "wait", resuming: "accent", completed: "good", error: "bad" };

export function ExecutionBadge({ status }: { status: ExecutionStatus }) {
  const words = useWords();
  return <Badge kind={kinds[status]}>{words.executions.statuses[status]}</Badge>;
}
