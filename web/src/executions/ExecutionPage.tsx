import { getRouteApi, Link } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { ApiError } from "../api/request";
import { Markdown } from "../chat/messages/Markdown";
import { useFeed } from "../feed/feed";
import { Json } from "../json/Json";
import { useReviews } from "../reviews/reviews";
import { Empty } from "../ui/Empty";
import { Notice } from "../ui/Notice";
import { Page } from "../ui/Page";
import { Moment } from "../ui/Time";
import { useWords } from "../words/words";
import { ExecutionBadge } from "./ExecutionBadge";
import css from "./ExecutionPage.module.css";
import { inputText, useExecution } from "./executions";
import { Timeline } from "./Timeline";

const route = getRouteApi("/app/executions/$executionId");

export function ExecutionPage() {
  const words = useWords();
  const w = words.executions;
  const { executionId } = route.useParams();
  const queries = useQueryClient();
  const found = useExecution(executionId);
  const reviews = useReviews({ execution_id: executionId });
  useFeed("/feeds/runs", () => {
    void queries.invalidateQueries({ queryKey: ["execution"] });
    void queries.invalidateQueries({ queryKey: ["reviews"] });
  });
  const back = <Link to="/app/executions" search={{}}>‹ {w.title}</Link>;
  const e = found.data;
  if (!e) {
    const unknown = found.error instanceof ApiError && found.error.status === 404;
    return <Page title={w.one} back={back}>{found.error ? <Empty title={unknown ? w.unknown : found.error.message} /> : <p role="status">{words.app.loading}</p>}</Page>;
  }
  const said = inputText(e.input);
  return (
    <Page title={w.one} back={back} actions={<ExecutionBadge status={e.status} />}>
      <dl className={css.facts}>
        <div><dt>{w.agent}</dt><dd>{e.agent.replaceAll("_", " ")}</dd></div>
        <div><dt>{w.started}</dt><dd><Moment at={e.created_at} /></dd></div>
        {e.invoker_user_id ? <div><dt>{w.invoker}</dt><dd>{e.invoker_user_id}</dd></div> : null}
        {e.session_id ? <div><dt>{w.session}</dt><dd>{e.session_id}</dd></div> : null}
        <div><dt>{w.workspace}</dt><dd>{e.workspace_id}</dd></div>
        <div><dt>{w.one}</dt><dd><code>{e.execution_id}</code></dd></div>
        <div><dt>{words.review.thread}</dt><dd><Link to="/app/chat/{-$threadId}" params={{ threadId: e.thread_id }} search={{}}>{w.openThread}</Link></dd></div>
        {e.traces ? (
          <div><dt>{w.trace}</dt>{e.traces.map(({ trace_id: trace, url }) => (
            <dd key={trace}>{url ? <a href={url} target="_blank" rel="noreferrer"><code>{trace}</code></a> : <code>{trace}</code>}</dd>
          ))}</div>
        ) : null}
      </dl>
      <section>
        <h2>{w.input}</h2>
        {said ? <p className={css.said}>{said}</p> : <Json value={e.input ?? null} label={w.input} />}
      </section>
      {e.error ? <Notice kind="bad"><span><strong>{w.error}{e.error_code ? ` (${e.error_code})` : ""}</strong>: {e.error}</span></Notice> : null}
      <section><h2>{w.timeline}</h2><Timeline execution={e} reviews={reviews.data ?? []} /></section>
      {e.response ? <section><h2>{w.response}</h2><Markdown text={e.response} /></section> : null}
    </Page>
  );
}
