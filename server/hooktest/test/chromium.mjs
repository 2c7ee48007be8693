/** The browser of the machine; nothing is downloaded. */
export const executable = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
