/**
 * One configuration file as it stands on a host, read through its agent and judged twice: there,
 * before anything leaves, and here, against the hashes of the tokens this operator keeps.
 *
 * @module
 */

import { z } from "zod";
import { hex } from "../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { within } from "../../lib/host/paths.ts";
import type { FileProblem, InvalidSet } from "../../lib/home/ports.ts";
import type { ProgramContext } from "../../lib/terminal/program.ts";
import { findSecretPlaces, type SecretPlace } from "../../lib/topology/secret_places.ts";
import { type Dispatched, type Ready, runDispatch } from "./dispatch.ts";
import type { DispatchFlags } from "./dispatch_flags.ts";
import { readAsk } from "./one_host.ts";
import type { Operator } from "./operator.ts";

/** Files of a host that its agent reads for us, by the names they have in a home. */
export const LIVE_KINDS: Readonly<Record<string, string>> = {
  "agent.toml": "agent",
  "router.toml": "router",
  "serves.toml": "serves",
  "topology.toml": "topology",
};

/** What stands there. */
export type LiveFile =
  | { readonly kind: "live"; readonly sha256: string; readonly text: string }
  | { readonly kind: "absent" }
  /** It is there, and its text does not leave the host. */
  | {
    readonly kind: "withheld";
    readonly sha256: string;
    readonly code: string;
    readonly places: readonly SecretPlace[];
  }
  /** The host was asked and has no such answer. */
  | { readonly kind: "fell"; readonly dispatched: Dispatched }
  | Refusal;

const text = z.string();
const answerShape = z.looseObject({
  file: z.looseObject({
    state: z.enum(["present", "absent", "refused"]),
    sha256: text.regex(/^[0-9a-f]{64}$/).nullable(),
    code: text.nullable(),
  }),
  text: text.nullable(),
  withheld: z.looseObject({
    code: text,
    places: z.array(z.looseObject({
      line: z.int().nullable(),
      column: z.int().nullable(),
      key: text.nullable(),
      what: text,
    })),
  }).nullable(),
});

/** Asks the one host of `ready` for the file of that name. */
export async function readLive(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: DispatchFlags,
  name: string,
): Promise<LiveFile> {
  const kind = LIVE_KINDS[name];
  if (kind === undefined) {
    return refuse(
      "file_not_read",
      `agents do not read ${name} for anybody; they read ${Object.keys(LIVE_KINDS).join(", ")}`,
      "bring that one over by hand",
    );
  }
  const ask = readAsk("config.read", { kind });
  const dispatched = await runDispatch(context, operator, ready, flags, ask);
  const [outcome] = dispatched.outcomes;
  if (outcome?.code === "config_not_here") return { kind: "absent" };
  if (outcome?.kind !== "done") return { kind: "fell", dispatched };
  return judged(operator, ready, name, outcome);
}

async function judged(
  { ports, dispatch }: Operator,
  { store }: Ready,
  name: string,
  { result, host }: Outcome,
): Promise<LiveFile> {
  const read = answerShape.safeParse(result);
  if (!read.success) {
    return refuse(
      "answer_not_understood",
      `${host} told of ${name} in a way this version does not know`,
      "see `fleet versions`",
    );
  }
  const { file, text, withheld } = read.data;
  if (file.state === "absent") return { kind: "absent" };
  if (file.sha256 === null) {
    return refuse(
      "live_unreadable",
      `the agent of ${host} may not read ${name}: ${file.code ?? "no reason given"}`,
      `see the runbook of the agent on ${file.code ?? "its codes"}`,
    );
  }
  const { sha256 } = file;
  if (withheld !== null || text === null) {
    return { kind: "withheld", sha256, code: withheld?.code ?? "no_text", places: placesOf(read) };
  }
  if (hex(ports.sha256(text)) !== sha256) {
    return refuse(
      "live_garbled",
      `what ${host} sent of ${name} is not what it says its digest is of`,
      "a byte order mark, or another fault of encoding: look at the file on the host",
    );
  }
  const known = await knownTokens({ ports, dispatch }, store);
  const places = findSecretPlaces(text, (value) => known.has(hex(ports.sha256(value))));
  return places.length === 0
    ? { kind: "live", sha256, text }
    : { kind: "withheld", sha256, code: "secret_value", places };
}

function placesOf(read: { readonly data: z.infer<typeof answerShape> }): readonly SecretPlace[] {
  return read.data.withheld?.places.map(({ line, column, key, what }) => ({
    line,
    column,
    key,
    what,
  })) ?? [];
}

/** SHA-256 of every token this operator keeps, lower-case hex. */
export async function knownTokens(
  { ports, dispatch }: Pick<Operator, "ports" | "dispatch">,
  store: string | null,
): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  const { environmentToken } = dispatch;
  if (environmentToken !== null) known.add(hex(ports.sha256(environmentToken.reveal())));
  const list = store === null ? null : await ports.directories.list(store, MOST_TOKENS);
  for (const { name, kind } of list?.kind === "ok" ? list.entries : []) {
    if (store === null || kind !== "file" || name.startsWith(".")) continue;
    const read = await ports.files.readBounded(within(store, name), MOST_TOKEN_BYTES);
    if (read.kind === "ok") {
      known.add(hex(ports.sha256(new TextDecoder().decode(read.bytes).trim())));
    }
  }
  return known;
}

const MOST_TOKENS = 10_000;
const MOST_TOKEN_BYTES = 4096;

/** Where the secrets stand in a file that may not cross. */
export function secretProblems(file: string, places: readonly SecretPlace[]): InvalidSet {
  const problems = places.map(({ line, column, key, what }): FileProblem => ({
    file,
    path: key ?? "$",
    code: "secret_in_file",
    message: `${what} stands here; names and templates cross, secrets do not: ` +
      "move it into a file of its own on the host, and name that",
    ...(line === null ? {} : { line }),
    ...(column === null ? {} : { column }),
  }));
  return { kind: "invalid", problems };
}

/** Why a file may not cross, as a failure of the command. */
export function withheldFailure(
  host: string,
  name: string,
  { code, places }: { readonly code: string; readonly places: readonly SecretPlace[] },
): InvalidSet | Refusal {
  return places.length > 0 ? secretProblems(`${host}:${name}`, places) : refuse(
    "file_withheld",
    `the agent of ${host} does not show ${name}: ${code}`,
    "see that code in the agent's runbook; mend the file on the host",
  );
}
