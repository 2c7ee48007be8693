import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { useSession } from "../session/session";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Empty } from "../ui/Empty";
import { Loading } from "../ui/Loading";
import { Notice } from "../ui/Notice";
import { Page } from "../ui/Page";
import { Panel } from "../ui/Panel";
import table from "../ui/Table.module.css";
import { Ago, Moment } from "../ui/Time";
import { useWords } from "../words/words";
import css from "./AccessPage.module.css";
import { CreateKey } from "./CreateKey";
import { useKeys, useRevokeKey, type Key } from "./keys";

export function AccessPage() {
  const words = useWords();
  const w = words.access;
  const owner = useSession().data?.can.own ?? false;
  const keys = useKeys();
  const [creating, setCreating] = useState(false);
  return (
    <Page title={w.title} actions={owner ? <Button kind="primary" onClick={() => setCreating(true)}><Plus size={16} aria-hidden /> {w.create}</Button> : undefined}>
      {owner ? <p>{w.lead}</p> : <Empty title={w.owner} />}
      {owner && keys.error ? <Notice kind="bad" alert>{keys.error.message}</Notice> : null}
      {owner && keys.isPending ? <Loading /> : null}
      {owner && keys.data?.length === 0 ? <Empty icon={<KeyRound size={40} strokeWidth={1.3} aria-hidden />} title={w.empty} /> : null}
      {owner && keys.data && keys.data.length > 0 ? (
        <table className={table.table}>
          <thead><tr><th>{w.name}</th><th>{w.roles}</th><th>{w.created}</th><th>{w.expires}</th><th /></tr></thead>
          <tbody>{keys.data.map((key) => <Row key={key.id} item={key} />)}</tbody>
        </table>
      ) : null}
      {creating ? <CreateKey close={() => setCreating(false)} /> : null}
    </Page>
  );
}

function Row({ item }: { item: Key }) {
  const words = useWords();
  const w = words.access;
  const revoke = useRevokeKey();
  const [asking, setAsking] = useState(false);
  const over = item.revoked_at ? w.revoked : item.expires_at && new Date(item.expires_at) < new Date() ? w.expired : null;
  return (
    <tr>
      <td className={table.grow}>
        <strong>{item.name || item.id}</strong> {over ? <Badge kind="bad">{over}</Badge> : null} {item.agent ? <Badge>{w.program}</Badge> : null}
        <br /><small>{[item.principal === item.name ? "" : item.principal, item.workspace_id ? `${w.workspace}: ${item.workspace_id}` : ""].filter(Boolean).join(" · ")}</small>
      </td>
      <td><span className={css.badges}>{item.roles.map((role) => <Badge key={role} kind="accent">{role}</Badge>)}</span></td>
      <td className={table.tight} data-label={w.created}><Ago at={item.created_at} /></td>
      <td className={table.tight} data-label={w.expires}>{item.expires_at ? <Moment at={item.expires_at} /> : w.never}</td>
      <td>
        {over ? null : <Button small kind="bad" onClick={() => setAsking(true)}>{w.revoke}</Button>}
        <Panel open={asking} onOpenChange={setAsking} title={w.revokeTitle} lead={w.revokeLead}>
          {revoke.error ? <Notice kind="bad" alert>{revoke.error.message}</Notice> : null}
          <div><Button kind="bad" disabled={revoke.isPending} onClick={() => revoke.mutate(item.id, { onSuccess: () => setAsking(false) })}>{w.revoke}</Button> <Button onClick={() => setAsking(false)}>{words.app.cancel}</Button></div>
        </Panel>
      </td>
    </tr>
  );
}
