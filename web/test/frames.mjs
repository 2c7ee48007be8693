// How long frames wait: the gaps between them as the page sees them, and, which doesn't depend on what else
// the machine does, the CPU time for which the page's main thread is busy at a time. Run by hand, best on a
// quiet machine: PARLEY_BIN=bin/parley node web/test/frames.mjs
import { flags, executable } from "../../server/hooktest/test/chromium.mjs";
import { start } from "../../server/hooktest/test/server.mjs";
import { chromium } from "./playwright.mjs";

const server = await start(["--ephemeral", "--agents", "bench"]);
const browser = await chromium.launch({ executablePath: executable, args: flags });
const tab = await browser.newPage({ viewport: { width: 1280, height: 800 }, locale: "en-US" });
const cdp = await browser.newBrowserCDPSession();
const composer = tab.getByRole("textbox", { name: "Message", exact: true });

/** Reports the longest frames, and the longest tasks of the main thread, while something is done. */
async function measure(what, work) {
  await tab.evaluate(() => {
    const gaps = (window.gaps = []);
    let last;
    requestAnimationFrame(function look(now) {
      if (last !== undefined) gaps.push(now - last);
      last = now;
      if (window.gaps === gaps) requestAnimationFrame(look);
    });
  });
  const events = [];
  const collect = ({ value }) => events.push(...value);
  cdp.on("Tracing.dataCollected", collect);
  await cdp.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["toplevel"] } });
  await work();
  const gaps = await tab.evaluate(() => {
    const found = window.gaps;
    window.gaps = undefined;
    return found.sort((a, b) => b - a);
  });
  const complete = new Promise((resolve) => cdp.once("Tracing.tracingComplete", resolve));
  await cdp.send("Tracing.end");
  await complete;
  cdp.off("Tracing.dataCollected", collect);
  const main = new Set(events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}:${e.tid}`));
  const tasks = events.filter((e) => e.ph === "X" && /RunTask/.test(e.name) && e.tdur !== undefined && main.has(`${e.pid}:${e.tid}`)).map((e) => e.tdur / 1000);
  tasks.sort((a, b) => b - a);
  const over = (ms) => tasks.filter((t) => t > ms).length;
  const sum = Math.round(tasks.reduce((a, b) => a + b, 0));
  console.log(`${what}:`);
  console.log(`  frames: ${gaps.length}, longest ${gaps[0]?.toFixed(1)} ms, over 50 ms: ${gaps.filter((gap) => gap > 50).length}`);
  console.log(`  tasks (CPU): ${tasks.length}, ${sum} ms in all, longest ${tasks[0]?.toFixed(1)} ms, over 16.7 ms: ${over(16.7)}, over 50 ms: ${over(50)}`);
}

async function answerOf(tokens) {
  await composer.fill(`tokens=${tokens} delay_us=1000`);
  await composer.press("Enter");
  await tab.getByRole("button", { name: "Stop" }).waitFor();
  await tab.getByRole("button", { name: "Stop" }).waitFor({ state: "detached", timeout: 240_000 });
}

/** A thread of 1,000 messages, half of them with lists, code and tables. */
async function longThread() {
  const post = async (path, body) => (await fetch(server.url + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json();
  const { thread_id: id } = await post("/threads", {});
  await post(`/threads/${id}/runs/wait`, { assistant_id: "echo_stream", input: { messages: [{ type: "human", content: "tokens=3" }] } });
  const messages = Array.from({ length: 499 }, (_, i) => [
    { type: "human", id: `h${i}`, content: `Question ${i} about **this** and that` },
    { type: "ai", id: `a${i}`, content: `## Answer ${i}\n\nSome *text* with a list:\n\n- one\n- two ${"and more ".repeat(i % 9)}\n\n\`\`\`js\nconst x = ${i};\n\`\`\`\n\n| a | b |\n|---|---|\n| 1 | ${i} |` },
  ]).flat();
  await post(`/threads/${id}/state`, { values: { messages } });
  return id;
}

await tab.goto(`${server.url}/app/chat?agent=echo_stream`);
await composer.waitFor();
await measure("10,000 tokens", () => answerOf(10_000));
await tab.goto(`${server.url}/app/chat/${await longThread()}`);
await tab.getByText("Answer 498").waitFor();
await tab.mouse.move(700, 400);
await measure("scrolling through 1,000 messages", async () => {
  for (let i = 0; i < 150; i++) {
    await tab.mouse.wheel(0, -400);
    await tab.waitForTimeout(16);
  }
});
await tab.getByRole("button", { name: "Go to the end" }).click();
await measure("2,000 tokens below 1,000 messages", () => answerOf(2_000));
await browser.close();
await server.stop();
