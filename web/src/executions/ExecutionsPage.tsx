import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { ListChecks } from "lucide-react";
import { useFeed } from "../feed/feed";
import { Button } from "../ui/Button";
import { Choice } from "../ui/Choice";
import { Empty } from "../ui/Empty";
import { Loading } from "../ui/Loading";
import { Notice } from "../ui/Notice";
import { Page } from "../ui/Page";
import table from "../ui/Table.module.css";
import { shortened } from "../ui/shortened";
import { Ago, exactDuration } from "../ui/Time";
import { useLocale, useWords } from "../words/words";
import { ExecutionBadge } from "./ExecutionBadge";
import { inputText, useExecutions, type Execution } from "./executions";

const route = getRouteApi("/app/executions");

export function ExecutionsPage() {
  const words = useWords();
  const w = words.executions;
  const { status } = route.useSearch();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const executions = useExecutions(status);
  useFeed("/feeds/runs", () => void queries.invalidateQueries({ queryKey: ["executions"] }));
  const list = executions.data?.pages.flatMap((p) => p.executions) ?? [];
  return (
    <Page title={w.title} actions={
      <Choice bare label={w.status} value={status ?? ""} onChange={(v) => void navigate({ to: "/app/executions", search: { status: v || undefined }, replace: true })}
        options={[["", w.all], ...Object.entries(w.statuses)]} />
    }>
      {executions.error ? <Notice kind="bad" alert>{executions.error.message}</Notice> : null}
      {executions.isPending ? <Loading /> : null}
      {executions.isSuccess && list.length === 0 ? <Empty icon={<ListChecks size={40} strokeWidth={1.3} aria-hidden />} title={status ? w.noneFound : w.empty} /> : null}
      {list.length > 0 ? (
        <table className={table.table}>
          <thead><tr><th>{w.input}</th><th>{w.agent}</th><th>{w.status}</th><th>{w.started}</th><th className={table.right}>{w.took}</th></tr></thead>
          <tbody>{list.map((e) => <Row key={e.execution_id} execution={e} />)}</tbody>
        </table>
      ) : null}
      {executions.hasNextPage ? <div><Button onClick={() => void executions.fetchNextPage()}>{words.app.more}</Button></div> : null}
    </Page>
  );
}

function Row({ execution: e }: { execution: Execution }) {
  const words = useWords();
  const locale = useLocale();
  const end = e.completed_at ?? (e.status === "error" ? e.updated_at : undefined);
  return (
    <tr>
      <td className={table.grow}>
        <Link className={table.link} to="/app/executions/$executionId" params={{ executionId: e.execution_id }}>{shortened(inputText(e.input), 160) || e.execution_id}</Link>
        {e.suspend_reason ? <><br /><small>{e.suspend_reason}</small></> : null}
        {e.error ? <><br /><small>{e.error}</small></> : null}
      </td>
      <td className={table.tight}>{e.agent.replaceAll("_", " ")}</td>
      <td><ExecutionBadge status={e.status} /></td>
      <td className={table.tight}><Ago at={e.created_at} /></td>
      <td className={table.right} data-label={end ? words.executions.took : undefined}>{end ? exactDuration(new Date(end).getTime() - new Date(e.created_at).getTime(), locale) : null}</td>
    </tr>
  );
}
