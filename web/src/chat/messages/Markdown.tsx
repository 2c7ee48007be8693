import { lazy, Suspense } from "react";
import css from "./Markdown.module.css";

const load = () => import("./MarkdownBlocks");
const Blocks = lazy(() => load().then((m) => ({ default: m.MarkdownBlocks })));

/** Fetches what shows Markdown before there is any, when the first page has nothing else to do. */
export function prepareMarkdown(): void {
  const fetchIt = () => void load().catch(() => {}); // whoever needs it tries again
  // Safari has no idle callbacks.
  if ("requestIdleCallback" in window) requestIdleCallback(fetchIt, { timeout: 2000 });
  else setTimeout(fetchIt, 500);
}

/** A text in Markdown. */
export function Markdown({ text }: { text: string }) {
  return <Suspense fallback={<p className={css.plain}>{text}</p>}><Blocks text={text} /></Suspense>;
}
