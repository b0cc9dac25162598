/**
 * Every host that has a build is built and published by itself: a child process with its own
 * deadline and result file. One host's failure neither stops nor blesses another.
 *
 *     per host: empty result file ─ child ─ exit 0 and a result? ─ publish ─ report file
 *
 * @module
 */

import { z } from "zod";
import {
  REV_PATTERN,
  STORE_PATH_PATTERN,
  targetIdOf,
} from "../../lib/adoption/envelope_payload.ts";
import { firstIssue, momentShape } from "../../lib/adoption/keys.ts";
import { timestamp } from "../../lib/core/clock.ts";
import { maskText } from "../../lib/core/mask.ts";
import type { ProcessOutcome } from "../../lib/core/process.ts";
import { readJson } from "../../lib/core/strict_json.ts";
import { parent } from "../../lib/host/paths.ts";
import type { HostConfig, PublisherConfig } from "./config.ts";
import { buildPath } from "./layout.ts";
import { no, ofDisk, type PublisherPorts, type PublisherRefusal } from "./ports.ts";
import { publish, type PublishAsk } from "./publish.ts";

/** Bytes a build may print; one that prints more is killed. */
export const MOST_OUTPUT_BYTES = 16 * 1024 * 1024;
/** Characters of its output that a report keeps. */
const TAIL = 4096;
/** Milliseconds between two words about a build that runs. */
const STILL_MS = 30_000;

/** What a build writes into its result file. */
export const resultShape = z.strictObject({
  rev: z.string().regex(REV_PATTERN),
  store_path: z.string().regex(STORE_PATH_PATTERN).optional(),
  tree: z.string().startsWith("/").max(4096).optional(),
  committed_at: momentShape.optional(),
  requires_reboot: z.boolean().optional(),
}).refine(
  (result) => (result.store_path === undefined) !== (result.tree === undefined),
  "expected store_path or tree, one of them",
);

/** What became of one host. */
export type BuildReport = {
  readonly host: string;
  readonly outcome: "published" | "refreshed" | "failed";
  /** What went wrong; null when nothing did. */
  readonly code: string | null;
  readonly detail: string | null;
  readonly rev: string | null;
  readonly target: string | null;
  readonly sequence: number | null;
  readonly started_at: string;
  readonly ended_at: string;
};

/** Builds and publishes `ids`, one after the other; without any: every host with a build. */
export async function buildAll(
  ports: PublisherPorts,
  config: PublisherConfig,
  ids: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly BuildReport[] | PublisherRefusal> {
  const unknown = ids.find((id) => !config.hosts.some((host) => host.id === id));
  if (unknown !== undefined) return no("host_unknown", `${unknown} is not in publisher.toml`);
  const hosts = config.hosts.filter(({ id, build }) =>
    ids.length > 0 ? ids.includes(id) : build !== undefined
  );
  if (hosts.length === 0) {
    return no("build_none", "no host in publisher.toml has a `build`", "add one, or use `publish`");
  }
  const reports: BuildReport[] = [];
  for (const [index, host] of hosts.entries()) {
    ports.progress(`${host.id}: builds (${index + 1} of ${hosts.length})`);
    const report = await buildOne(ports, config, host, env);
    reports.push(report);
    const { outcome, code, sequence } = report;
    ports.progress(`${host.id}: ${outcome}${code === null ? ` as ${sequence}` : `, ${code}`}`);
  }
  return reports;
}

async function buildOne(
  ports: PublisherPorts,
  config: PublisherConfig,
  host: HostConfig,
  env: Readonly<Record<string, string>>,
): Promise<BuildReport> {
  const started_at = timestamp(ports.clock.now());
  const base = { host: host.id, started_at, rev: null, target: null, sequence: null };
  const built = await build(ports, config, host, env);
  const outcome = "refusal" in built ? built.refusal : await publishAlone(ports, config, built.ask);
  const ended_at = timestamp(ports.clock.now());
  const report: BuildReport = outcome.kind === "refused"
    ? { ...base, outcome: "failed", code: outcome.code, detail: outcome.detail, ended_at }
    : {
      ...{ host: host.id, started_at, ended_at, code: null, detail: null },
      outcome: outcome.kind === "refreshed" ? "refreshed" : "published",
      rev: outcome.payload.rev.id,
      target: targetIdOf(outcome.payload.target),
      sequence: outcome.payload.sequence,
    };
  const text = JSON.stringify({ schema: 1, ...report, output: built.output }, null, 2);
  const path = buildPath(config.root, host.id, "report.json");
  const written = await ports.files.replaceFile(path, new TextEncoder().encode(`${text}\n`), 0o600);
  if (written.kind === "refused") ports.progress(`${host.id}: its report: ${written.detail}`);
  return report;
}

/** Publishes; a bug that one host brings to light is that host's failure, not the next one's. */
async function publishAlone(ports: PublisherPorts, config: PublisherConfig, ask: PublishAsk) {
  try {
    return await publish(ports, config, ask);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return no("publisher_bug", `nothing was published: ${said}`, "please report it");
  }
}

/** What the child said, and what is to be published; or why nothing is. */
type Built =
  | { readonly ask: PublishAsk; readonly output: string }
  | { readonly refusal: PublisherRefusal; readonly output: string };

async function build(
  ports: PublisherPorts,
  config: PublisherConfig,
  host: HostConfig,
  env: Readonly<Record<string, string>>,
): Promise<Built> {
  const [program, ...args] = host.build ?? [];
  if (program === undefined) {
    return failed(no("build_none", `${host.id} has no \`build\` in publisher.toml`));
  }
  const result = buildPath(config.root, host.id, "result.json");
  const made = await ports.directories.make(parent(result));
  if (made.kind === "refused") return failed(ofDisk(made, "make the folder of builds"));
  // What an earlier build said must not speak for this one.
  const emptied = await ports.files.replaceFile(result, new Uint8Array(0), 0o600);
  if (emptied.kind === "refused") return failed(ofDisk(emptied, "empty the result file"));
  const fill = (text: string) =>
    text.replaceAll("{host}", () => host.id).replaceAll("{result}", () => result);
  const ended = await told(ports, host.id, () =>
    ports.run({
      argv: [fill(program), ...args.map(fill)],
      env,
      deadlineMs: host.build_minutes * 60_000,
      maxOutputBytes: MOST_OUTPUT_BYTES,
    }));
  const output = tailOf(ended);
  const wrong = refuseEnd(ended, host);
  if (wrong !== null) return { refusal: wrong, output };
  const read = await ports.files.readBounded(result, 16 * 1024);
  if (read.kind !== "ok" || read.bytes.length === 0) {
    return {
      refusal: no("build_no_result", "the build ended well and wrote no result file"),
      output,
    };
  }
  const json = readJson(read.bytes, { bytes: 16 * 1024, depth: 2, values: 16 });
  const shaped = json.kind === "ok" ? resultShape.safeParse(json.value) : null;
  if (shaped?.data === undefined) {
    const detail = shaped?.error === undefined ? "not strict JSON" : firstIssue(shaped.error);
    return { refusal: no("build_result_malformed", `the result file: ${detail}`), output };
  }
  const { rev, store_path, tree = "", committed_at = null, requires_reboot = false } = shaped.data;
  return {
    ask: {
      host: host.id,
      source: store_path === undefined
        ? { kind: "tree", path: tree }
        : { kind: "store-path", path: store_path },
      rev,
      committedAt: committed_at,
      requiresReboot: requires_reboot,
      allowDowngradeFrom: [],
      reinstate: false,
      sequenceAbove: 0,
    },
    output,
  };
}

/** Runs `act` and says now and then that it still does. */
async function told<Value>(
  { clock, progress }: PublisherPorts,
  host: string,
  act: () => Promise<Value>,
): Promise<Value> {
  const over = new AbortController();
  const began = clock.monotonic();
  const saying = (async () => {
    for (;;) {
      await clock.sleep(STILL_MS, over.signal);
      progress(`${host}: still builds, ${Math.round((clock.monotonic() - began) / 1000)} s`);
    }
  })().catch(() => {});
  try {
    return await act();
  } finally {
    over.abort();
    await saying;
  }
}

function refuseEnd(ended: ProcessOutcome, host: HostConfig): PublisherRefusal | null {
  switch (ended.kind) {
    case "exited":
      return ended.code === 0
        ? null
        : no("build_failed", `the build exited with ${ended.code}`, "see its report.json");
    case "signalled":
      return no("build_failed", `the build was ended by ${ended.signal}`);
    case "timed_out":
      return no("build_timeout", `the build took more than ${host.build_minutes} minutes`);
    case "aborted":
      return no("build_failed", "the build was stopped");
    case "output_too_large":
      return no("build_output_too_large", `the build printed more than ${MOST_OUTPUT_BYTES} bytes`);
    case "failed_to_start":
      return no(
        "build_not_started",
        `the build did not start: ${ended.code}`,
        "check the program's name, and the launcher's --allow-run",
      );
  }
}

function failed(refusal: PublisherRefusal): Built {
  return { refusal, output: "" };
}

/** The end of what a build printed, without our own tokens. */
function tailOf(ended: ProcessOutcome): string {
  if (ended.kind === "failed_to_start") return "";
  const text = [ended.stdout, ended.stderr].map((bytes) => new TextDecoder().decode(bytes)).join(
    "",
  );
  return maskText(text.slice(-TAIL));
}
