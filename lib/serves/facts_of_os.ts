/**
 * Which programs tell the facts of an operating system.
 *
 * @module
 */

import type { RunProcess } from "../core/process.ts";
import { linuxFacts } from "./linux_facts.ts";
import { macosFacts } from "./macos_facts.ts";
import type { OsFacts } from "./os_facts.ts";
import { windowsFacts } from "./windows_facts.ts";

/** The facts of `os`; null: nobody here can read them. */
export function factsOf(os: string, run: RunProcess): OsFacts | null {
  switch (os) {
    case "linux":
      return linuxFacts(run);
    case "darwin":
      return macosFacts(run);
    case "windows":
      return windowsFacts(run);
    default:
      return null;
  }
}
