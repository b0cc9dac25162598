/**
 * `adopter.toml`: text -> shape -> model, all problems at once.
 *
 * @module
 */

import { z } from "zod";
import { BACKENDS, CHANNEL_PATTERN } from "../../lib/adoption/envelope_payload.ts";
import { POLICIES } from "../../lib/adoption/policy.ts";
import { parseWindow, REBOOT_POLICIES } from "../../lib/adoption/reboot.ts";
import { parseOrigin } from "../../lib/core/address.ts";
import { ID_PATTERN } from "../../lib/core/ids.ts";
import type { Checked, Problem } from "../../lib/core/problem.ts";
import { checkShape, fault } from "../../lib/document/shape.ts";
import { readToml } from "../../lib/document/toml.ts";
import { gateShape, probeShape } from "./facts_config.ts";

const whole = (least: number, most: number) => z.int().min(least).max(most);
const unit = z.string().regex(/^[A-Za-z0-9:_.@\\-]{1,200}$/, "expected the name of a unit");

/** Whose units a bundle restarts. */
const BUNDLE_SUPERVISORS = ["system", "systemd-user"] as const;

const origin = z.string().transform((text, ctx) => {
  const parsed = parseOrigin(text);
  if (parsed.kind !== "refused") return text.replace(/\/$/, "");
  ctx.addIssue(fault(parsed.code, parsed.detail));
  return z.NEVER;
});

const span = z.string().transform((text, ctx) => {
  const parsed = parseWindow(text);
  if (parsed !== null) return parsed;
  ctx.addIssue(fault("window_malformed", "expected HH:MM-HH:MM in UTC, as 02:00-05:30"));
  return z.NEVER;
});

/** The whole file. */
export const configShape = z.strictObject({
  schema: z.literal(1),
  host: z.string().regex(ID_PATTERN, "expected lower-case letters, digits and `-`, a letter first")
    .describe("This host's id: candidates for another are refused."),
  backend: z.enum(BACKENDS).describe("What this host adopts: a system closure or a bundle."),
  channel: z.string().regex(CHANNEL_PATTERN).default("rolling").describe(
    "Candidates of another channel are refused.",
  ),
  state: z.string().min(1).describe(
    "Folder of journal, receipts and detail, mode 0700; relative to this file.",
  ),
  summary: z.string().min(1).describe(
    "The summary that anybody may read; its folder exists. Relative to this file.",
  ),
  failures: z.string().min(1).describe(
    "Folder of failure markers, one file per unit, that anybody may read. Relative to this file.",
  ),
  publisher: z.strictObject({
    url: origin.describe("Where candidates are: http:// or https://, a literal IP and a port."),
    trust: z.string().min(1).describe("Trust file with the public keys; relative to this file."),
    schema1: z.string().regex(/^\/[\x21-\x7e]*$/, "expected a path that begins with /").optional()
      .describe(
        "For migration, nixos only: the path of a manifest of schema 1, its signature at the same " +
          "path and `.sig`. Asked for while there is no pointer.",
      ),
    timeout_seconds: whole(1, 600).default(20).describe("How long the pointer may take."),
    idle_seconds: whole(1, 600).default(30).describe("The longest silence of a download."),
  }),
  policy: z.strictObject({
    adopt: z.enum(POLICIES).default("stage-only").describe(
      "What a timer may do: adopt, stage only, or nothing. `manual` and `none` stage nothing either; " +
        "a person may always adopt. What runs already is proven under each of them: that changes nothing.",
    ),
    stale_after_hours: whole(1, 8760).default(72).describe(
      "From then on waiting, silence of the publisher or a pending boot is loud.",
    ),
    renotify_hours: whole(1, 8760).default(24).describe(
      "How long a failure that stays is not told again.",
    ),
    notify: z.array(z.string().min(1)).max(32).default([]).describe(
      "Program and arguments that tell somebody; the marker's text comes on standard input.",
    ),
    reboot: z.enum(REBOOT_POLICIES).default("notify").describe(
      "What becomes of a pending boot.",
    ),
    reboot_window: span.optional().describe("When `window` may boot: HH:MM-HH:MM, UTC."),
    restart_sensitive: z.array(unit).max(64).default([]).describe(
      "Units whose restart only a person may cause, besides those a candidate names.",
    ),
  }).prefault({}),
  limits: z.strictObject({
    stage_minutes: whole(1, 1440).default(60).describe("How long staging may take."),
    launch_minutes: whole(1, 240).default(15).describe(
      "How long an activation is waited for before it is of unknown end.",
    ),
    settle_minutes: whole(1, 240).default(30).describe(
      "How long one of unknown end is watched before a person must look.",
    ),
    verify_minutes: whole(1, 240).default(30).describe("How long checking every byte may take."),
    baseline_minutes: whole(1, 240).default(10).describe(
      "An older baseline is taken anew before an activation.",
    ),
  }).prefault({}),
  verdict: z.strictObject({
    samples: whole(1, 100).default(3).describe("Clean samples in a row for known good."),
    every_seconds: whole(1, 600).default(10).describe("Pause between two samples."),
    window_seconds: whole(0, 86_400).default(20).describe("Time the clean samples must span."),
    deadline_seconds: whole(1, 86_400).default(180).describe(
      "Without them by then the verdict is bad.",
    ),
  }).prefault({}),
  nixos: z.strictObject({
    profile: z.string().min(1).default("/nix/var/nix/profiles/system").describe(
      "The system profile.",
    ),
    current_link: z.string().min(1).default("/run/current-system").describe("What runs."),
    booted_link: z.string().min(1).default("/run/booted-system").describe("What was booted."),
    substituters: z.array(z.string().min(1)).max(16).default([]).describe(
      "Caches to realise from; none: those of nix.conf.",
    ),
    trusted_keys: z.array(z.string().min(1)).max(16).default([]).describe(
      "Public keys of the caches; none: those of nix.conf.",
    ),
    nix_config: z.string().default("").describe("More lines of nix.conf, for these calls alone."),
    boot: z.string().min(1).optional().describe("Where kernels go, for the disk gate: `/boot`."),
  }).prefault({}),
  bundle: z.strictObject({
    store: z.string().min(1).describe("Folder of generations and pointers; relative to this file."),
    supervisor: z.enum(BUNDLE_SUPERVISORS).default("system").describe(
      "Whose units they are, here, in gates and in probes: the system's, or on Linux those of the " +
        "account the adopter runs as, which the receiver and `systemctl --user` know.",
    ),
    units: z.array(unit).max(64).default([]).describe(
      "Restarted after each switch, in this order: systemd units, on macOS launchd labels.",
    ),
  }).optional(),
  gates: z.array(gateShape).max(64).default([]),
  probes: z.array(probeShape).max(64).default([]),
});

/** `adopter.toml` with its defaults filled in. */
export type AdopterConfig = z.infer<typeof configShape>;

/** Reads a config text. Paths in it are still as written: the caller knows where the file stands. */
export function readConfig(text: string): Checked<AdopterConfig> {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const shaped = checkShape(configShape, table.model);
  const problems: Problem[] = shaped.kind === "invalid" ? [...shaped.problems] : [];
  const { backend, bundle, policy } = table.model;
  if (backend === "bundle" && bundle === undefined) {
    const message = "the bundle backend needs to know its store and its units";
    problems.push({ path: "bundle", code: "missing", message });
  }
  if (
    typeof policy === "object" && policy !== null && "reboot" in policy &&
    policy.reboot === "window" && !("reboot_window" in policy)
  ) {
    const message = "the policy `window` needs to know the window";
    problems.push({ path: "policy.reboot_window", code: "missing", message });
  }
  for (const list of ["gates", "probes"] as const) {
    problems.push(...duplicates(list, table.model[list]));
  }
  if (shaped.kind === "ok") problems.push(...contradictions(shaped.model));
  return shaped.kind === "invalid" || problems.length > 0 ? { kind: "invalid", problems } : shaped;
}

function duplicates(list: string, value: unknown): Problem[] {
  if (!Array.isArray(value)) return [];
  const names = value.map((one: unknown) =>
    typeof one === "object" && one !== null && "name" in one ? one.name : null
  );
  return names.flatMap((name, index) =>
    typeof name === "string" && names.indexOf(name) < index
      ? [{
        path: `${list}[${index}].name`,
        code: "duplicate_name",
        message: "another has this name already: reasons and evidence are told by name",
      }]
      : []
  );
}

function contradictions({ verdict, policy, probes }: AdopterConfig): Problem[] {
  const problems: Problem[] = [];
  const least = Math.max((verdict.samples - 1) * verdict.every_seconds, verdict.window_seconds);
  if (verdict.deadline_seconds <= least) {
    problems.push({
      path: "verdict.deadline_seconds",
      code: "deadline_too_short",
      message: `a good verdict takes at least ${least} s; expected more than that`,
    });
  }
  if (policy.adopt === "rolling" && probes.length === 0) {
    problems.push({
      path: "probes",
      code: "probes_missing",
      message: "a host that adopts by itself needs a probe: without one everything is good",
    });
  }
  return problems;
}
