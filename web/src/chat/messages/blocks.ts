// Markdown in its outermost blocks, so that a growing text only renders its end again.
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";

export interface Split {
  text: string;
  blocks: string[];
}

/** Splits a text; what the split of its beginning already settled is taken over. */
export function split(text: string, before: Split | undefined): Split {
  // What goes on in the same line begins no block; it is the end of the last one.
  if (before && before.blocks.length > 0 && text.startsWith(before.text) && !text.slice(before.text.length).includes("\n")) {
    return { text, blocks: [...before.blocks.slice(0, -1), before.blocks.at(-1)! + text.slice(before.text.length)] };
  }
  // The last block of the beginning may still have grown, and so may the one before (a list, a table).
  const keep = before && before.text !== "" && text.startsWith(before.text) ? before.blocks.slice(0, -2) : [];
  const settled = keep.reduce((length, block) => length + block.length, 0);
  return { text, blocks: [...keep, ...blocksOf(text.slice(settled))] };
}

function blocksOf(text: string): string[] {
  // References may be defined anywhere, so a text with definitions stays whole.
  if (/^ {0,3}\[[^\]]+\]:/m.test(text)) return [text];
  const tree = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
  const starts = tree.children.map((node) => node.position?.start.offset ?? 0);
  if (starts.length === 0) return text === "" ? [] : [text];
  return starts.map((start, i) => text.slice(i === 0 ? 0 : start, starts[i + 1] ?? text.length));
}
