// Hints of the server that a list has changed. A browser opens only six connections to a
// server over HTTP/1.1, so all tabs share one: whoever holds the lock listens for the others.
import { useEffect, useRef } from "react";

/** Follows a feed: calls back, at most twice a second, when the server says that something changed. */
export function useFeed(url: string | undefined, changed: () => void): void {
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    if (!url) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        latest.current();
      }, 500);
    };
    const stop = new AbortController();
    const channel = new BroadcastChannel(`parley:${url}`);
    channel.onmessage = tell;
    void listenForAll(url, stop.signal, () => {
      tell();
      channel.postMessage(null);
    });
    return () => {
      stop.abort();
      channel.close();
      clearTimeout(timer);
    };
  }, [url]);
}

/** Listens while no other tab does; without locks (plain HTTP on a network) each tab for itself. */
async function listenForAll(url: string, stop: AbortSignal, hint: () => void): Promise<void> {
  if (!navigator.locks) return listen(url, stop, hint);
  try {
    await navigator.locks.request(`parley:${url}`, { signal: stop }, () => listen(url, stop, hint));
  } catch (error) {
    if (!stop.aborted) throw error;
  }
}

function listen(url: string, stop: AbortSignal, hint: () => void): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const open = () => {
      source = new EventSource(url);
      source.onopen = source.onmessage = hint;
      source.onerror = () => {
        // A refused stream is not tried again by the browser itself.
        if (source.readyState === EventSource.CLOSED) retry = setTimeout(open, 10_000);
      };
    };
    open();
    stop.addEventListener("abort", () => {
      clearTimeout(retry);
      source.close();
      resolve();
    });
  });
}
