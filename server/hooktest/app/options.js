// The options of useStream for a page's props; what isn't JSON is chosen by name.
import { Client } from "@langchain/langgraph-sdk";

/** The options that a mount keeps. */
export function makeOptions(props) {
  return {
    ...(props.client ? { client: new Client({ apiUrl: props.api, apiKey: null, onRequest: noteRequest }) } : { apiUrl: props.api }),
    ...(props.wrapper ? { fetch: window.wrappers[props.wrapper].fetch } : {}),
    ...(props.tools ? { tools: headlessTools(props.tools) } : {}),
    onTool: (event) => window.note("tool", toolEvent(event)),
    onReconnect: () => window.note("reconnect"),
    onThreadId: (id) => window.note("threadId", id),
    onCreated: (run) => window.note("created", run.runId ?? run.run_id),
    onCompleted: () => window.note("completed"),
    assistantId: props.graph,
    ...props.options,
  };
}

function noteRequest(url, init) {
  window.note("onRequest", url.pathname, typeof init);
  return init;
}

function headlessTools(how) {
  const execute = async () => {
    if (how === "throws") throw new Error("GPS unavailable");
    return { latitude: 37.7749, longitude: -122.4194 };
  };
  return [{ tool: { name: "get_location" }, execute }];
}

function toolEvent({ phase, name, result, error }) {
  const detail = error ? `:${error.message}` : result === undefined ? "" : `:${JSON.stringify(result)}`;
  return `${phase}:${name}${detail}`;
}
