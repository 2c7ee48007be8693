import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Download, ScrollText, ShieldCheck } from "lucide-react";
import type { AuditSearch } from "../app/routes";
import { useAgents } from "../chat/agents";
import { useSession } from "../session/session";
import { Button } from "../ui/Button";
import button from "../ui/Button.module.css";
import { Choice } from "../ui/Choice";
import { Empty } from "../ui/Empty";
import { TextField } from "../ui/Field";
import { Loading } from "../ui/Loading";
import { Notice } from "../ui/Notice";
import { Page } from "../ui/Page";
import table from "../ui/Table.module.css";
import { useWords } from "../words/words";
import { useAudit, useExportLink, useVerify } from "./audit";
import { EntryRow } from "./EntryRow";
import { Found } from "./Found";
import { Verified } from "./Verified";

const route = getRouteApi("/app/audit");

export function AuditPage() {
  const words = useWords();
  const owner = useSession().data?.can.own ?? false;
  return owner ? <Log /> : <Page title={words.audit.title}><Empty title={words.access.owner} /></Page>;
}

function Log() {
  const words = useWords();
  const w = words.audit;
  const filter: AuditSearch = route.useSearch();
  const navigate = useNavigate();
  const agents = useAgents().data ?? [];
  const audit = useAudit(filter);
  const verify = useVerify();
  const link = useExportLink(filter);
  const entries = audit.data?.pages.flatMap((p) => p.entries) ?? [];
  const show = (next: AuditSearch) => void navigate({ to: "/app/audit", search: next, replace: true });
  const set = (change: AuditSearch) => show({ ...filter, ...change });
  const exportLink = (format: "jsonl" | "csv", text: string) => (
    <a className={`${button.button} ${button.plain}`} href={link(format)} download><Download size={15} aria-hidden /> {text}</a>
  );
  return (
    <Page title={w.title}
      actions={<><Button onClick={() => verify.mutate()} disabled={verify.isPending}><ShieldCheck size={16} aria-hidden /> {verify.isPending ? w.verifying : w.verify}</Button>{exportLink("jsonl", w.asJson)}{exportLink("csv", w.asCsv)}</>}
      filters={
        <>
          <Choice bare label={w.action} value={filter.action ?? ""} onChange={(v) => set({ action: v || undefined })} options={[["", w.any], ...Object.entries(w.actions)]} />
          <TextField bare label={w.principal} placeholder={w.principal} value={filter.principal ?? ""} onChange={(v) => set({ principal: v || undefined })} />
          <Choice bare label={w.agent} value={filter.agent ?? ""} onChange={(v) => set({ agent: v || undefined })} options={[["", words.reviews.anyAgent], ...agents.map((a) => [a.graph_id, a.graph_id] as const)]} />
          <TextField label={w.since} type="date" value={filter.since ?? ""} onChange={(v) => set({ since: v || undefined })} />
          <TextField label={w.until} type="date" value={filter.until ?? ""} onChange={(v) => set({ until: v || undefined })} />
        </>
      }>
      <Verified verify={verify} />
      {audit.error ? <Notice kind="bad" alert>{audit.error.message}</Notice> : null}
      {audit.isPending ? <Loading /> : null}
      {audit.isSuccess ? <Found filter={filter} count={entries.length} more={audit.hasNextPage} onChange={show} /> : null}
      {audit.isSuccess && entries.length === 0 && !audit.hasNextPage ? <Empty icon={<ScrollText size={40} strokeWidth={1.3} aria-hidden />} title={Object.values(filter).some(Boolean) ? w.noneFound : w.empty} /> : null}
      {entries.length > 0 ? (
        <table className={table.table}>
          <thead><tr><th>#</th><th>{w.when}</th><th>{w.action}</th><th>{w.who}</th><th>{w.subject}</th><th><span hidden>{w.details}</span></th></tr></thead>
          <tbody>{entries.map((entry) => <EntryRow key={entry.seq} entry={entry} />)}</tbody>
        </table>
      ) : null}
      {audit.hasNextPage ? <div><Button disabled={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>{audit.isFetchingNextPage ? words.app.loading : words.app.more}</Button></div> : null}
    </Page>
  );
}
