/**
 * The serves of this host as the changes see them: what is declared now, and hands on it.
 *
 * @module
 */

import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Remarks } from "../../lib/core/remarks.ts";
import { explainBudget } from "../../lib/serves/budget.ts";
import { serveHands } from "../../lib/serves/machines/hands.ts";
import type { ServeHands } from "../../lib/serves/machines/ports.ts";
import type { Serve } from "../../lib/serves/manifest_shape.ts";
import type { HostServes } from "./changes.ts";
import type { ServesHost } from "./serves_host.ts";

/** Makes them out of a way to open the host. */
export function hostServes(
  node: string,
  open: () => Promise<ServesHost | Refusal>,
  remarks: Remarks,
): HostServes {
  return {
    facts: async () => {
      const opened = await open();
      if ("code" in opened) return opened;
      const { host, topology, serves, manifest } = opened;
      return { node, axes: host, topology, serves, manifest };
    },
    handsFor: async (serves) => {
      const opened = await open();
      return "code" in opened ? opened : handsOn(opened, serves, remarks);
    },
  };
}

/** Hands on `serves`, which a change was planned with: the manifest may have moved on since. */
function handsOn(host: ServesHost, serves: readonly Serve[], remarks: Remarks): ServeHands {
  const { lifecycle, probe } = host;
  return serveHands({
    serves,
    lifecycle,
    probe,
    driverFor: (serve) => {
      const driver = host.driverOf(serve);
      if ("code" in driver) throw new Error(driver.detail);
      return driver;
    },
    fits: async (start, stop, signal) => {
      const decided = await lifecycle.budgetFor(start, stop, signal);
      if ("code" in decided) return refuse(decided.code, decided.detail);
      if (decided.kind === "fits") return null;
      const code = decided.kind === "over" ? "over_budget" : "memory_unknown";
      return refuse(code, `${start.join(", ")}: ${explainBudget(decided)}`);
    },
    onProgress: ({ serve, step, observed }) =>
      remarks.info("{serve}: {step}, {observed}", { serve, step, observed }),
  });
}
