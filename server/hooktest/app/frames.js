// Looks at the document in every animation frame: what a person could have seen.

/** Counts the elements that match in every frame until stop() is called. */
export function watchFrames(selector) {
  const counts = [];
  let handle = requestAnimationFrame(function look() {
    counts.push(document.querySelectorAll(selector).length);
    handle = requestAnimationFrame(look);
  });
  return {
    counts,
    stop() {
      cancelAnimationFrame(handle);
      return counts;
    },
  };
}
