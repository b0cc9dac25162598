/**
 * Debian's Chromium for a test or a measurement, driven by puppeteer-core.
 *
 * @module
 */

import puppeteer, { type Browser, type BrowserContext, type Page } from "puppeteer-core";
import { commandPath } from "../../scripts/needs.ts";

/** A browser of its own, with an empty profile. It reaches loopback and nothing else. */
export async function startChromium(): Promise<Browser & AsyncDisposable> {
  const browser = await puppeteer.launch({
    executablePath: commandPath("chromium") ?? "chromium",
    headless: true,
    args: [
      "--no-sandbox", // as root, as in a container
      ...["--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
      ...["--no-first-run", "--no-default-browser-check", "--disable-sync"],
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
    ],
  });
  return Object.assign(browser, { [Symbol.asyncDispose]: () => browser.close() });
}

/** Where pages are opened: a browser, or a part of it that shares nothing with the others. */
export type Pages = Pick<Browser | BrowserContext, "newPage">;

/** A page in one colour scheme, `width` CSS pixels wide. */
export async function openPage(
  browser: Pages,
  url: string,
  { scheme = "light", width = 1400, height = 1100 }: {
    readonly scheme?: "light" | "dark";
    readonly width?: number;
    readonly height?: number;
  } = {},
): Promise<Page> {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url, { waitUntil: "domcontentloaded" });
  return page;
}
