// Requests to the server that the page came from, with the cookie of the session.

/** The server refused a request, or could not be reached (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly body: unknown,
  ) {
    super(message);
  }
}

export interface Call {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** A 401 is an answer like others, and doesn't end the session. */
  quiet?: boolean;
  /** The request outlives the page. */
  keepalive?: boolean;
}

/** Sends a request and reads its JSON; undefined for an empty reply. */
export async function request<T>(path: string, call: Call = {}): Promise<T> {
  const response = await send(path, call);
  const text = await response.text();
  const body = parsed(text);
  if (!response.ok) {
    if (response.status === 401 && !call.quiet) announceSignedOut();
    throw new ApiError(response.status, errorText(body) ?? `${response.status} ${response.statusText}`, body);
  }
  return body as T;
}

async function send(path: string, { method, body, signal, headers, keepalive }: Call): Promise<Response> {
  try {
    return await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      keepalive,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, error instanceof Error ? error.message : String(error), undefined);
  }
}

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

/** The sentence in an error body, in either of the server's dialects. */
function errorText(body: unknown): string | undefined {
  if (typeof body === "string" && body !== "") return body;
  if (typeof body !== "object" || body === null) return undefined;
  const { message, detail, reason, error } = body as Record<string, unknown>;
  return [message, detail, reason, error].find((part): part is string => typeof part === "string" && part !== "");
}

const signedOut = new EventTarget();
let changing = 0;
let missed = false;

/** Does work that changes whom the page is for: what others are refused meanwhile is told when it is done. */
export async function changingSession<T>(work: () => Promise<T>): Promise<T> {
  changing += 1;
  try {
    return await work();
  } finally {
    changing -= 1;
    if (changing === 0 && missed) {
      missed = false;
      announceSignedOut();
    }
  }
}

/** Tells whoever listens that the server wants to know who is asking. */
export function announceSignedOut(): void {
  if (changing > 0) missed = true;
  else signedOut.dispatchEvent(new Event("signedout"));
}

export function onSignedOut(listener: () => void): () => void {
  signedOut.addEventListener("signedout", listener);
  return () => signedOut.removeEventListener("signedout", listener);
}
