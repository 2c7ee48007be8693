import { useState } from "react";
import { verdicts } from "../approval/verdicts";
import { Json } from "../json/Json";
import { Badge, type BadgeKind } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Panel } from "../ui/Panel";
import table from "../ui/Table.module.css";
import { Moment } from "../ui/Time";
import { useWords } from "../words/words";
import { About } from "./About";
import { toolsOf } from "./subject";
import type { Entry } from "./audit";
import css from "./AuditPage.module.css";

const kinds: Record<string, BadgeKind> = {
  "review.requested": "wait", "review.decided": "good", "review.expired": "bad", "review.refused": "bad", "tool.executed": "accent", "key.revoked": "bad", "review.expiring": "wait",
};

export function EntryRow({ entry }: { entry: Entry }) {
  const words = useWords();
  const w = words.audit;
  const [open, setOpen] = useState(false);
  const names: Record<string, string> = w.actions;
  const { body } = entry;
  const decided = entry.decision ? verdicts(entry.decision, toolsOf(entry), words) : [];
  return (
    <tr>
      <td className={table.number}>{entry.seq}</td>
      <td className={table.tight}><Moment at={entry.at} precise /></td>
      <td>
        <Badge kind={kinds[entry.action] ?? "plain"}>{names[entry.action] ?? entry.action}</Badge>
        {decided.length === 1 ? <small className={css.remark}>{decided[0]!.text}</small> : null}
      </td>
      <td>{entry.principal ?? (body.actor?.kind === "anonymous" ? words.session.anonymous : body.actor?.kind === "agent" ? entry.agent : w.system)}</td>
      <td className={table.grow}>
        <About entry={entry} />
      </td>
      <td>
        <Button small onClick={() => setOpen(true)}>{w.details}</Button>
        {open ? <Panel open side="right" onOpenChange={setOpen} title={`${w.details} ${entry.seq}`}><Json value={entry} label={w.details} open={4} /></Panel> : null}
      </td>
    </tr>
  );
}
