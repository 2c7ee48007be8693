// A page in the browser: mounts of a useStream component, what they show, and
// what they asked of the server.
import assert from "node:assert/strict";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import { afterTest } from "./cleanup.mjs";

const servers = JSON.parse(process.env.HOOKTEST_SERVERS);
const browser = await chromium.connect(process.env.HOOKTEST_BROWSER);
after(() => browser.close());

export const react = servers["conformance-react"];
export const svelte = servers["conformance-svelte"];
export const bench = servers.bench;
export const demo = servers.demo;
export const own = servers.own; // the program of ../agents
export const pages = process.env.HOOKTEST_PAGES;

export const human = (content) => ({ messages: [{ type: "human", content }] });
export const IDLE = "Not loading";
export const LOADING = "Loading...";

/** How long a page may take, in ms: the machine is shared. */
const PATIENCE = 60_000;

/** A tab in a window of its own: a browser draws no frames of tabs behind others. */
async function newTab() {
  const context = await browser.newContext();
  context.setDefaultTimeout(2 * PATIENCE);
  return context.newPage();
}

/** An empty tab, closed after the test. */
export async function openTab(t) {
  const tab = await newTab();
  afterTest(t, () => tab.context().close());
  return tab;
}

const idle = new Map(); // library → pages that tests have left
let opening = Promise.resolve(); // one page loads at a time

/** A tab with the test pages, which another test takes over later. */
export async function openPage(t, { library = "react" } = {}) {
  const page = idle.get(library)?.pop() ?? (await inTurn(() => loaded(library)));
  afterTest(t, () => page.leave());
  return page;
}

function inTurn(open) {
  const turn = opening.then(open);
  opening = turn.catch(() => {});
  return turn;
}

async function loaded(library) {
  const page = new Page(await newTab(), library);
  await page.load();
  return page;
}

class Page {
  requests = [];
  errors = [];

  constructor(tab, library) {
    Object.assign(this, { tab, library });
    tab.on("request", (r) => this.requests.push({ method: r.method(), path: new URL(r.url()).pathname, body: r.postData() }));
    tab.on("pageerror", (error) => this.errors.push(error));
    if (process.env.HOOKTEST_DEBUG) tab.on("console", (m) => console.log("console:", m.text()));
  }

  async load() {
    await this.tab.goto(`${pages}/${this.library}.html`);
    await this.tab.waitForFunction(() => window.pages);
  }

  /** Unmounts all, and leaves the tab to the next test. A page that threw is a failure. */
  async leave() {
    const { errors } = this;
    const clean = await Promise.race([this.tab.evaluate(() => window.pages.reset()).then(() => true, () => false), sleep(PATIENCE, false, { ref: false })]);
    Object.assign(this, { errors: [], requests: [] });
    if (!clean || errors.length > 0) await this.tab.context().close();
    else idle.set(this.library, [...(idle.get(this.library) ?? []), this]);
    assert.deepEqual(errors, [], "errors of the page");
  }

  /** Mounts a component under a name; see app/react/chat.jsx for its props. */
  async mount(props, { name = "main", kind = "chat" } = {}) {
    await this.tab.evaluate(([n, k, p]) => window.pages.mount(n, k, p), [name, kind, props]);
    await this.tab.waitForFunction((n) => document.getElementById(n)?.hasChildNodes(), name);
    return this.view(name, props);
  }

  /** A component that the page itself mounted. */
  view(name, props) {
    return new View(this, name, props);
  }

  count(part, method) {
    return this.requests.filter((r) => r.method !== "OPTIONS" && r.path.endsWith(part) && (!method || r.method === method)).length;
  }

  notes(kind) {
    return this.tab.evaluate((k) => window.notes.filter(([what]) => what === k).map(([, ...rest]) => rest), kind);
  }
}

class View {
  constructor(page, name, props) {
    Object.assign(this, { page, name, props, tab: page.tab });
  }

  update(props) {
    this.props = { ...this.props, ...props };
    return this.tab.evaluate(([n, p]) => window.pages.update(n, p), [this.name, this.props]);
  }

  /** Looks at the document in every frame from the next on; look is a function of the page. */
  watch(look) {
    return this.tab.evaluate(([name, source]) => window.watchFrames(name, new Function(`return (${source})()`)), [this.name, String(look)]);
  }

  /** Ends a watch: what each frame since then showed. */
  frames() {
    return this.tab.evaluate((name) => window.stopFrames(name), this.name);
  }

  unmount() {
    return this.tab.evaluate((n) => window.pages.unmount(n), this.name);
  }

  /** Calls a method of the stream; a failure becomes a note, as in a click handler. */
  call(method, ...args) {
    return this.tab.evaluate(
      ([name, m, list]) => {
        Promise.resolve(window.streams[name][m](...list)).then(
          () => window.note("settled", m),
          (error) => window.note("rejected", m, String(error?.message ?? error)),
        );
      },
      [this.name, method, args],
    );
  }

  /** Calls a function of the page the moment that the server has accepted the next run. */
  onceCreated(then, arg) {
    return this.tab.evaluate(([source, given]) => {
      const { note } = window;
      window.note = (...what) => {
        note(...what);
        if (what[0] !== "created") return;
        window.note = note;
        (0, eval)(`(${source})`)(given);
      };
    }, [String(then), arg]);
  }

  submit(input, options) {
    return this.call("submit", input, options);
  }

  respond(answer, options) {
    return this.call("respond", answer, options);
  }

  /** What the document shows of this mount; null when it isn't there. */
  read() {
    return this.tab.evaluate((name) => {
      const box = document.getElementById(name);
      if (!box) return null;
      const text = (field) => box.querySelector(`[data-field=${field}]`)?.textContent;
      const json = (field) => JSON.parse(text(field) ?? "null");
      return {
        loading: text("loading"), threadLoading: text("threadLoading"), threadId: text("threadId"), error: text("error"),
        sibling: text("sibling"), thrown: text("thrown"), fallback: text("fallback"),
        values: json("values"), interrupts: json("interrupts"), open: json("open"), toolCalls: json("toolCalls"),
        subagents: json("subagents"), subgraphs: json("subgraphs"), queue: json("queue"),
        messages: [...box.querySelectorAll("[data-message]")].map((li) => ({
          id: li.dataset.message, type: li.dataset.type, text: li.textContent,
          status: li.dataset.status, parent: li.dataset.parent, card: li.dataset.card,
        })),
        panels: Object.fromEntries([...box.querySelectorAll("[data-panel]")].map((p) => [p.dataset.panel, JSON.parse(p.textContent || "null")])),
        scoped: window.scoped?.[name] ?? {},
      };
    }, this.name);
  }

  /**
   * Polls what is shown until the assertions of `check` hold, and returns it. For
   * what a page settles on: a hook's streams come one after the other, so that it may
   * be idle before its values are there, or before an answered question goes.
   */
  async settles(what, check, timeout) {
    let failure;
    const holds = (shown) => {
      try {
        check(shown);
        return true;
      } catch (error) {
        failure = error;
        return false;
      }
    };
    return this.until(what, holds, timeout).catch((late) => {
      throw failure ?? late;
    });
  }

  /** Polls what is shown until it satisfies the condition, and returns it. */
  async until(what, condition, timeout = PATIENCE) {
    const end = Date.now() + timeout;
    for (;;) {
      const late = Date.now() > end; // a look that begins in time counts, however busy the page is
      const shown = await this.read();
      if (shown && condition(shown)) return shown;
      if (late) {
        const notes = await this.tab.evaluate(() => window.notes.slice(-30));
        assert.fail(`not within ${timeout} ms: ${what}; shown: ${JSON.stringify(shown)}; notes: ${JSON.stringify(notes)}; errors: ${this.page.errors.join("; ")}`);
      }
      await sleep(20);
    }
  }

  /**
   * Waits for the end of a run: the label was "Loading..." and is no more, and
   * the condition holds (the last values may come just after the terminal).
   */
  async idle(condition = () => true, timeout) {
    await this.sawLoading();
    return this.until(`idle and ${condition}`, (s) => s.loading === IDLE && condition(s), timeout);
  }

  labels() {
    return this.tab.evaluate((name) => window.notes.filter(([w, n]) => w === "label" && n === name).map(([, , label]) => label), this.name);
  }

  async sawLoading() {
    await this.until("Loading... was shown", () => true);
    const end = Date.now() + PATIENCE;
    while (!(await this.labels()).includes(LOADING)) {
      if (Date.now() > end) assert.fail("never showed Loading...");
      await sleep(10);
    }
  }
}

/** Remounts a page's stream on a thread, as after a navigation. */
export async function remount(view, props = {}) {
  const { threadId } = await view.read();
  await view.unmount();
  return view.page.mount({ ...view.props, thread: threadId, ...props }, { name: `${view.name}-again` });
}

export const says = (...list) => (shown) => JSON.stringify(texts(shown)) === JSON.stringify(list);

export const texts = (shown) => shown.messages.map((m) => m.text);

/** Asserts that a condition stays true for a while. */
export async function stays(view, what, condition, ms) {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const shown = await view.read();
    if (!condition(shown)) assert.fail(`${what}; shown: ${JSON.stringify(shown)}`);
    await sleep(50);
  }
}
