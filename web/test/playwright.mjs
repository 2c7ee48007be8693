// The browser driver that the tests of the published hooks use.
import { createRequire } from "node:module";

export const { chromium } = createRequire(new URL("../../server/hooktest/package.json", import.meta.url))("playwright-core");
