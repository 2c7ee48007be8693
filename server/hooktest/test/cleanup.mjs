// What a test opened is closed in reverse order: pages before their servers.
const stacks = new WeakMap();

export function afterTest(t, close) {
  if (!stacks.has(t)) {
    stacks.set(t, []);
    t.after(async () => {
      for (const next of stacks.get(t).reverse()) await next();
    });
  }
  stacks.get(t).push(close);
}
