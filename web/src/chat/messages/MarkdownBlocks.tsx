import { memo, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import type { Processor } from "unified";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { CopyButton } from "../../ui/CopyButton";
import { split, type Split } from "./blocks";
import css from "./Markdown.module.css";

/** A text in Markdown, while it is being written, too. HTML in it is shown as text, images are links. */
export function MarkdownBlocks({ text }: { text: string }) {
  const last = useRef<Split | undefined>(undefined);
  last.current = last.current?.text === text ? last.current : split(text, last.current);
  return <div className={css.markdown}>{last.current.blocks.map((block, i) => <Block key={i} text={block} />)}</div>;
}

/** Tables, task lists, strikethrough and bare links: the reading half of remark-gfm, which brings the writing half along. */
function readGfm(this: Processor): void {
  const data = this.data() as { micromarkExtensions?: unknown[]; fromMarkdownExtensions?: unknown[] };
  (data.micromarkExtensions ??= []).push(gfm());
  (data.fromMarkdownExtensions ??= []).push(gfmFromMarkdown());
}

const plugins = [readGfm];

const components: Components = {
  a: ({ node: _, ...rest }) => <a {...rest} target="_blank" rel="noopener noreferrer" />,
  // An image's address could carry what the conversation says to another server; a person may follow the link.
  img: ({ src, alt }) => <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noopener noreferrer">{alt || src}</a>,
  table: ({ node: _, ...rest }) => <div className={css.scroll} tabIndex={0} role="group"><table {...rest} /></div>,
  pre: ({ node: _, children, ...rest }) => (
    <div className={css.code}>
      <pre {...rest} tabIndex={0}>{children}</pre>
      <span className={css.copy}><CopyButton text={plain(children)} /></span>
    </div>
  ),
};

/** A line that is nothing but words: no mark of Markdown, no address. */
const words = /^(?!\d+[.)])[\p{L}\p{N}][\p{L}\p{M}\p{N} ,.;'"()?!%-]*$/u;

const Block = memo(function Block({ text }: { text: string }) {
  if (words.test(text) && !text.includes("www.")) return <p>{text}</p>;
  return <ReactMarkdown remarkPlugins={plugins} components={components} skipHtml={false}>{text}</ReactMarkdown>;
});

function plain(node: unknown): string {
  if (typeof node === "string") return node;
  if (Array.isArray(node)) return node.map(plain).join("");
  return typeof node === "object" && node !== null && "props" in node ? plain((node.props as { children?: unknown }).children) : "";
}
