// What running tools tell of their work, by the call's id.
import type { AnyStream } from "@langchain/react";
import { useEffect, useState } from "react";

export type Progress = ReadonlyMap<string, string>;

interface ToolEvent {
  method: string;
  params: { data: { event?: string; tool_call_id?: string; delta?: unknown } };
}

export function useToolProgress(stream: AnyStream): Progress {
  const [progress, setProgress] = useState<Progress>(new Map());
  const thread = stream.getThread();
  useEffect(
    () =>
      thread?.onEvent((raw: unknown) => {
        const { method, params } = raw as ToolEvent;
        if (method !== "tools" || params.data.event !== "tool-output-delta" || !params.data.tool_call_id) return;
        const id = params.data.tool_call_id;
        const text = typeof params.data.delta === "string" ? params.data.delta : JSON.stringify(params.data.delta);
        setProgress((old) => new Map(old).set(id, [old.get(id), text].filter(Boolean).join("\n")));
      }),
    [thread],
  );
  return progress;
}
