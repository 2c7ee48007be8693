import { NAMESPACE_SEPARATOR } from "@langchain/langgraph-sdk/stream";

const counted = new WeakSet();

/** Counts the consumers of every subscription below the root in window.scoped. */
export function countSubscriptions(name, registry) {
  if (counted.has(registry)) return;
  counted.add(registry);
  const live = (window.scoped[name] = {});
  const acquire = registry.acquire.bind(registry);
  registry.acquire = (spec) => {
    const { store, release } = acquire(spec);
    const namespace = spec.key.split("|").at(-1);
    if (namespace === "") return { store, release };
    const key = spec.key.replaceAll(NAMESPACE_SEPARATOR, "/");
    live[key] = (live[key] ?? 0) + 1;
    let released = false;
    return {
      store,
      release() {
        if (!released && --live[key] === 0) delete live[key];
        released = true;
        release();
      },
    };
  };
}
