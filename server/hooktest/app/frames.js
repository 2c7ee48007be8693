// Looks at the document in every animation frame: what a person could have seen.
const watches = new Map();

/** Notes what look returns in every frame from the next on, under a name. */
export function watchFrames(name, look) {
  stopFrames(name);
  const watch = { seen: [] };
  watch.handle = requestAnimationFrame(function frame() {
    watch.handle = requestAnimationFrame(frame);
    watch.seen.push(look());
  });
  watches.set(name, watch);
}

/** Ends a watch and returns what each frame showed. */
export function stopFrames(name) {
  const watch = watches.get(name);
  if (!watch) return [];
  cancelAnimationFrame(watch.handle);
  watches.delete(name);
  return watch.seen;
}

export function stopAllFrames() {
  for (const name of [...watches.keys()]) stopFrames(name);
}
