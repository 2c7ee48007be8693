// Fetch wrappers that pages hand to useStream (spec/streaming-protocol.md 7.3).

const isStream = (input) => String(input?.url ?? input).includes("/stream/events");

/** All open event streams fail on drop(), as they do when a network goes away. */
export function droppable() {
  const open = new Set();
  const wrapper = { opens: 0, drop: () => open.forEach((fail) => fail()) };
  wrapper.fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!isStream(input) || !response.body) return response;
    wrapper.opens += 1;
    const reader = response.body.getReader();
    let fail;
    const dropped = new Promise((_, reject) => {
      fail = () => {
        open.delete(fail);
        reject(new TypeError("network error"));
        reader.cancel().catch(() => {});
      };
    });
    dropped.catch(() => {});
    open.add(fail);
    const body = new ReadableStream({
      async pull(controller) {
        const { done, value } = await Promise.race([reader.read(), dropped]);
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
  return wrapper;
}

/**
 * Records the questions of a thread and puts them in front of every stream that
 * is opened later from the beginning.
 */
export function durableReplay() {
  const recorded = new Map();
  const wrapper = { replayed: 0 };
  const encoder = new TextEncoder();
  const field = (frame, name) =>
    frame.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim();

  wrapper.fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!isStream(input) || !response.body) return response;
    const thread = String(input?.url ?? input).match(/threads\/([^/]+)/)[1];
    const request = JSON.parse(init?.body ?? "{}");
    const known = recorded.get(thread) ?? new Map();
    recorded.set(thread, known);
    const again = request.since === undefined && request.channels?.includes("input") ? [...known.values()] : [];
    const decoder = new TextDecoder();
    let text = "";
    const record = new TransformStream({
      start(controller) {
        for (const frame of again) {
          wrapper.replayed += 1;
          controller.enqueue(encoder.encode(`${frame}\n\n`));
        }
      },
      transform(chunk, controller) {
        controller.enqueue(chunk);
        text += decoder.decode(chunk, { stream: true });
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
          const frame = text.slice(0, end);
          const id = field(frame, "id");
          if (id === undefined || field(frame, "event") === undefined) continue;
          const data = JSON.parse(field(frame, "data"));
          if (data.method === "input.requested" && typeof data.seq === "number") known.set(id, frame);
        }
      },
    });
    return new Response(response.body.pipeThrough(record), { status: response.status, headers: response.headers });
  };
  return wrapper;
}

/**
 * Holds the streams of a page's content back until release(); the one that tells of
 * runs and questions passes. So a test decides which of a page's two streams is read first.
 */
export function held() {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  return {
    release,
    async fetch(input, init) {
      if (isStream(input) && JSON.parse(init.body).channels.includes("values")) await released;
      return fetch(input, init);
    },
  };
}
