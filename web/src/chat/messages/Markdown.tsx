import { lazy, Suspense } from "react";
import css from "./Markdown.module.css";

const load = () => import("./MarkdownBlocks");
const Blocks = lazy(() => load().then((m) => ({ default: m.MarkdownBlocks })));

/** Fetches what shows Markdown before there is any; the first page doesn't wait for it. */
export const prepareMarkdown = () => void load();

/** A text in Markdown. */
export function Markdown({ text }: { text: string }) {
  return <Suspense fallback={<p className={css.plain}>{text}</p>}><Blocks text={text} /></Suspense>;
}
