/** `anvil-publisher keys init|list|rotate|retire`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { addKey, type KeyFacts, loadKeyring, retireKey, trustOf } from "../keyring.ts";
import type { PublisherRefusal } from "../ports.ts";
import { CONFIG_FLAG, configOf, reportData, withPorts } from "../publisher.ts";

interface KeyFlags {
  readonly config: string;
  readonly json: boolean;
}

const FLAGS = { config: CONFIG_FLAG, json: JSON_FLAG } as const;

/** Makes a key, and says what to do with it. */
const addCommand = (first: boolean, brief: string, then: string) =>
  buildCommand<KeyFlags, [], ProgramContext>({
    parameters: { flags: FLAGS, positional: { kind: "tuple", parameters: [] } },
    docs: { brief, fullDescription: `${brief}.\n${then}` },
    async func({ config: file, json }) {
      const config = await configOf(this, file, json);
      if (config === null) return;
      const added = await withPorts(this, (ports) => addKey(ports, config.keys, first));
      report(this, added, then, json);
    },
  });

const listCommand = buildCommand<KeyFlags & { readonly trust: boolean }, [], ProgramContext>({
  parameters: {
    flags: {
      ...FLAGS,
      trust: {
        kind: "boolean",
        brief: "Print the trust file for hosts: the public keys that sign",
        default: false,
        withNegated: false,
      },
    },
    positional: { kind: "tuple", parameters: [] },
  },
  docs: {
    brief: "Show the keys, or print the trust file for hosts",
    fullDescription: "No private key is ever shown.\n\n" +
      "Example:\n  anvil-publisher keys list --trust > trust.json",
  },
  async func({ config: file, json, trust }) {
    const config = await configOf(this, file, json);
    if (config === null) return;
    const keyring = await withPorts(this, (ports) => loadKeyring(ports, config.keys));
    if (keyring.kind === "refused") return reportRefusal(this, keyring, json);
    const { facts } = keyring;
    if (trust) {
      this.terminal.out(trustOf(facts.filter(({ state }) => state === "signing")));
      return;
    }
    const rows = facts.map((one) => [one.id, one.state, one.created_at, one.retired_at ?? ""]);
    const data = { keys: facts.map((one) => ({ ...one })) };
    reportData(this, data, () => table(["id", "state", "created", "retired"], rows), json);
  },
});

const retireCommand = buildCommand<KeyFlags, [string], ProgramContext>({
  parameters: {
    flags: FLAGS,
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The key's id", parse: String, placeholder: "ID" }],
    },
  },
  docs: {
    brief: "Stop signing with a key, and forget its private half",
    fullDescription:
      "Do this once every host has a trust file with the other key. Publish every host again, and\n" +
      "give hosts the trust file without it.\n\nExample:\n  anvil-publisher keys retire ed25519-0123...",
  },
  async func({ config: file, json }, id) {
    const config = await configOf(this, file, json);
    if (config === null) return;
    const retired = await withPorts(this, (ports) => retireKey(ports, config.keys, id));
    const then = "publish every host again; then give hosts `keys list --trust`";
    report(this, retired, then, json);
  },
});

/** Every command about keys. */
export const keysRoutes = buildRouteMap({
  routes: {
    init: addCommand(
      true,
      "Make the first signing key",
      "Give hosts the trust file: `keys list --trust`. Keep a copy of the key somewhere safe.",
    ),
    list: listCommand,
    rotate: addCommand(
      false,
      "Make another key; from now on both sign",
      "Give hosts the new trust file: `keys list --trust`; when all have it, `keys retire` the old.",
    ),
    retire: retireCommand,
  },
  docs: { brief: "Signing keys" },
});

function report(
  context: ProgramContext,
  key: KeyFacts | PublisherRefusal,
  then: string,
  json: boolean,
): void {
  if ("kind" in key) return reportRefusal(context, key, json);
  reportData(
    context,
    { key: { ...key } },
    () => `${key.id}: ${key.state}\n  next: ${then}\n`,
    json,
  );
}
