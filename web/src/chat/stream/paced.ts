// Event streams in small pieces: a burst of thousands of events (a long answer that is caught up
// with) would otherwise be worked through in one go, and no frame drawn in the meantime.

const piece = 2048;

/** fetch, whose event streams let the browser draw between pieces. */
export const pacedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const paced = new TransformStream<Uint8Array, Uint8Array>(
    {
      async transform(chunk, controller) {
        for (let at = 0; at < chunk.length; at += piece) {
          controller.enqueue(chunk.subarray(at, at + piece));
          await turn();
        }
      },
    },
    new CountQueuingStrategy({ highWaterMark: 1 }),
    new CountQueuingStrategy({ highWaterMark: 1 }),
  );
  return new Response(response.body.pipeThrough(paced), { status: response.status, statusText: response.statusText, headers: response.headers });
};

/** Ends the task, so that whatever waits has its turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
