/** `anvil-publisher check FILE`. @module */

import { buildCommand } from "@stricli/core";
import { targetIdOf } from "../../../lib/adoption/envelope_payload.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { systemDirectories } from "../../../lib/host/directories.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportRefusal,
} from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { type Keyring, loadKeyring } from "../keyring.ts";
import { readPointer } from "../pointer.ts";
import type { PublisherRefusal } from "../ports.ts";
import { configOf } from "../publisher.ts";

/** What is published for one host now. */
type HostState = {
  readonly host: string;
  readonly state: "none" | "valid" | "withdrawn" | "expired" | "damaged";
  readonly sequence: number | null;
  readonly rev: string | null;
  readonly issued_at: string | null;
  readonly expires_at: string | null;
};

/** Validates a configuration, the keys it names and what is published; changes nothing. */
export const checkCommand = buildCommand<{ json: boolean }, [string], ProgramContext>({
  parameters: {
    flags: { json: JSON_FLAG },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The publisher's configuration", parse: String, placeholder: "FILE" }],
    },
  },
  docs: {
    brief: "Check a configuration, its keys, and what is published",
    fullDescription:
      "Prints every problem of FILE with its path and code and exits 2; exits 1 when the keys are\n" +
      "absent, readable by others, or damaged, or when a pointer is none of ours. Otherwise shows\n" +
      "what each host is offered. Changes nothing.\n\n" +
      "Example:\n  anvil-publisher check /etc/anvil/publisher.toml",
  },
  async func({ json }, file) {
    const config = await configOf(this, file, json);
    if (config === null) return;
    const ports = { files: systemFiles, directories: systemDirectories };
    const keyring = await loadKeyring(ports, config.keys);
    if (keyring.kind === "refused") return reportRefusal(this, keyring, json);
    const hosts: HostState[] = [];
    const damaged: PublisherRefusal[] = [];
    for (const { id } of config.hosts) {
      const found = await stateOf(config.root, id, keyring);
      if ("refusal" in found) damaged.push(found.refusal);
      hosts.push(found.state);
    }
    const keys = keyring.signing.map(({ id }) => id);
    this.exit(damaged.length === 0 ? 0 : 1);
    if (json) {
      printEnvelope(this, {
        ok: damaged.length === 0,
        data: { hosts, signing_keys: keys },
        problems: damaged.map(({ code, detail }) => ({ path: "$", code, message: detail })),
      });
      return;
    }
    const rows = hosts.map((one) => [
      ...[one.host, one.state, one.sequence === null ? "" : String(one.sequence)],
      ...[one.expires_at ?? "", one.rev ?? ""],
    ]);
    this.terminal.out(table(["host", "offer", "sequence", "valid until", "rev"], rows));
    if (damaged.length === 0) this.terminal.out(`${file}: ok, signed by ${keys.join(", ")}\n`);
    for (const one of damaged) this.terminal.err(`${one.code}: ${one.detail}\n`);
  },
});

async function stateOf(
  root: string,
  host: string,
  keyring: Keyring,
): Promise<
  { readonly state: HostState; readonly refusal: PublisherRefusal } | { readonly state: HostState }
> {
  const none = { host, sequence: null, rev: null, issued_at: null, expires_at: null };
  const payload = await readPointer(
    { files: systemFiles, clock: systemClock },
    root,
    host,
    keyring,
  );
  if (payload === null) return { state: { ...none, state: "none" } };
  if ("kind" in payload) return { state: { ...none, state: "damaged" }, refusal: payload };
  const { sequence, rev, issued_at, expires_at, withdrawn, target } = payload;
  const expired = Date.parse(expires_at) <= systemClock.now();
  const taken = withdrawn.includes(targetIdOf(target));
  const state = expired ? "expired" : taken ? "withdrawn" : "valid";
  return { state: { host, state, sequence, rev: rev.id, issued_at, expires_at } };
}
