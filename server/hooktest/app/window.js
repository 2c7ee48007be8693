// What a page offers to the tests that drive it.
import { stopAllFrames, stopFrames, watchFrames } from "./frames.js";
import { droppable, durableReplay, held } from "./wrappers.js";

const mounted = new Map(); // name → the box in the document and how to change it

/**
 * Puts on the window what tests use. mount(box, name, kind, props) shows a component
 * in a box and returns { update(props), unmount() }.
 */
export function offer(mount) {
  window.watchFrames = watchFrames;
  window.stopFrames = stopFrames;
  window.pages = {
    mount(name, kind, props) {
      const box = document.body.appendChild(document.createElement("section"));
      box.id = name;
      mounted.set(name, { box, ...mount(box, name, kind, props) });
    },
    update: (name, props) => mounted.get(name).update(props),
    unmount(name) {
      const { box, unmount } = mounted.get(name);
      unmount();
      box.remove();
      mounted.delete(name);
    },
    /** Leaves nothing of what a test did. */
    reset() {
      for (const name of [...mounted.keys()]) window.pages.unmount(name);
      stopAllFrames();
      clear();
    },
  };
  clear();
}

function clear() {
  window.streams = {}; // name → the latest return value of useStream
  window.notes = []; // what callbacks were told, in order
  window.scoped = {}; // name → key of a scoped subscription → its consumers
  window.wrappers = { droppable: droppable(), durableReplay: durableReplay(), held: held() };
  window.note = (...note) => void window.notes.push(note);
}
