/**
 * Makes the pictures of docs/images/ anew: the dashboard of a fixture fleet, light, dark and narrow.
 *
 *     deno run -A scripts/screenshots.ts
 *
 * @module
 */

import { exampleWatch } from "../tests/fixtures/dashboard_fleet.ts";
import { openPage, startChromium } from "../tests/support/chromium.ts";
import { servePage } from "../tests/support/dashboard_page.ts";

/** What is made; each stays below {@link MOST_BYTES}. */
export const PICTURES = [
  { name: "dashboard-light.png", path: "", scheme: "light", width: 1280, height: 1000 },
  { name: "dashboard-dark.png", path: "", scheme: "dark", width: 1280, height: 1000 },
  { name: "dashboard-narrow.png", path: "host/gpu-b", scheme: "light", width: 420, height: 1300 },
  { name: "dashboard-adoption.png", path: "", scheme: "light", width: 1280, element: "#adoption" },
] as const;

/** Bytes of one picture. */
export const MOST_BYTES = 200_000;

/** Where they are. */
export const FOLDER = new URL("../docs/images/", import.meta.url);

if (import.meta.main) {
  await Deno.mkdir(FOLDER, { recursive: true });
  await using served = servePage(exampleWatch(Date.now()));
  const browser = await startChromium();
  for (const { name, path, ...look } of PICTURES) {
    const page = await openPage(browser, `${served.url}${path}`, look);
    await page.waitForFunction('document.getElementById("link").textContent === "Live"');
    const part = "element" in look ? await page.$(look.element) : page;
    const bytes = await (part ?? page).screenshot({ type: "png" });
    if (bytes.length > MOST_BYTES) throw new Error(`${name}: ${bytes.length} bytes`);
    await Deno.writeFile(new URL(name, FOLDER), bytes);
    console.log(`docs/images/${name}: ${bytes.length} bytes`);
    await page.close();
  }
  await browser.close();
}
