// How many tabs of this browser have the app open. Over HTTP/1.1 a browser opens six
// connections to a server, and a conversation over server-sent events takes two.

const prefix = "parley-tab:";

/** Counts this tab in until it is closed. */
export function countIn(): void {
  void navigator.locks?.request(prefix + crypto.randomUUID(), () => new Promise(() => {}));
}

/** Whether other tabs need connections, too: then a WebSocket, which isn't counted, is the better transport. */
export async function crowded(): Promise<boolean> {
  if (!navigator.locks) return false;
  const { held } = await navigator.locks.query();
  return (held ?? []).filter((lock) => lock.name?.startsWith(prefix)).length > 1;
}
