// What a message's content says, whichever provider wrote it.
import type { BaseMessage } from "@langchain/core/messages";
import { isObject } from "../../schemaform/schema";

export type Part =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "image"; url: string }
  | { kind: "file"; name: string; url: string | undefined };

/** The content in order; neighbouring texts are one. */
export function partsOf(message: BaseMessage): Part[] {
  const parts: Part[] = [];
  const extra = message.additional_kwargs?.["reasoning_content"];
  if (typeof extra === "string" && extra !== "") parts.push({ kind: "reasoning", text: extra });
  const content: unknown = message.content;
  if (typeof content === "string") {
    if (content !== "") parts.push({ kind: "text", text: content });
    return parts;
  }
  for (const block of Array.isArray(content) ? content : []) add(parts, partOf(block));
  return parts;
}

function add(parts: Part[], part: Part | undefined): void {
  if (!part) return;
  const last = parts.at(-1);
  if (last && (part.kind === "text" || part.kind === "reasoning") && last.kind === part.kind) parts[parts.length - 1] = { kind: part.kind, text: last.text + part.text };
  else parts.push(part);
}

function partOf(block: unknown): Part | undefined {
  if (typeof block === "string") return { kind: "text", text: block };
  if (!isObject(block)) return undefined;
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" && block["text"] !== "" ? { kind: "text", text: block["text"] } : undefined;
    case "reasoning":
    case "thinking": {
      const text = block["reasoning"] ?? block["thinking"] ?? block["text"];
      return typeof text === "string" && text !== "" ? { kind: "reasoning", text } : undefined;
    }
    case "image":
    case "image_url": {
      const given = isObject(block["image_url"]) ? block["image_url"]["url"] : block["image_url"];
      const url = given ?? block["url"] ?? dataUrl(block);
      return typeof url === "string" && /^(data:image\/|blob:)/.test(url) ? { kind: "image", url } : typeof url === "string" && url.startsWith("https:") ? { kind: "file", name: url, url } : undefined;
    }
    case "file":
    case "audio":
    case "video": {
      const url = typeof block["url"] === "string" && block["url"].startsWith("https:") ? block["url"] : undefined;
      return { kind: "file", name: String(block["name"] ?? block["filename"] ?? block["mimeType"] ?? block["type"]), url };
    }
    default:
      return undefined;
  }
}

function dataUrl(block: { [key: string]: unknown }): string | undefined {
  const mime = block["mimeType"] ?? block["mime_type"] ?? "image/png";
  return typeof block["data"] === "string" ? `data:${String(mime)};base64,${block["data"]}` : undefined;
}

/** The texts of a message, without its reasoning. */
export const textOf = (message: BaseMessage): string => partsOf(message).flatMap((p) => (p.kind === "text" ? [p.text] : [])).join("\n\n");
