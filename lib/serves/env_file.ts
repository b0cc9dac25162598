/**
 * The values of a serve's variables: NAME=VALUE lines in a private file, exactly the names that the
 * manifest lists. A value is in no manifest, argv, log or error.
 *
 * @module
 */

import type { Files } from "../core/files.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { Secret } from "../core/secret.ts";
import type { Serve } from "./manifest_shape.ts";

/** The values, by name, in the order of the manifest. */
export type EnvRead =
  | { readonly kind: "ok"; readonly values: readonly (readonly [name: string, value: Secret])[] }
  | Refusal<"env_file_unusable">;

const MOST_BYTES = 64 * 1024;
const NEXT =
  "make it a file of NAME=VALUE lines with the names of `env`, owned by the agent, mode 0600";

/** Reads the values of `serve`; none when it has no variables. */
export async function readEnv(
  files: Files,
  serve: Pick<Serve, "env" | "env_file">,
): Promise<EnvRead> {
  if (serve.env_file === undefined) return { kind: "ok", values: [] };
  const privacy = await files.checkPrivate(serve.env_file);
  if (privacy.kind === "absent") return no("it is not there");
  if (privacy.kind !== "private") return no(privacy.detail);
  const read = await files.readBounded(serve.env_file, MOST_BYTES);
  if (read.kind !== "ok") return no(read.kind === "absent" ? "it is not there" : read.detail);
  const found = new Map<string, string>();
  for (const [index, line] of new TextDecoder().decode(read.bytes).split("\n").entries()) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [, name = "", value = ""] = /^([A-Za-z_][A-Za-z0-9_]*)=([^\r]*)\r?$/.exec(line) ?? [];
    if (name === "") return no(`line ${index + 1} is not NAME=VALUE`);
    if (found.has(name)) return no(`line ${index + 1} names ${name} again`);
    found.set(name, value);
  }
  const missing = serve.env.filter((name) => !found.has(name));
  if (missing.length > 0) return no(`it lacks ${missing.join(", ")}`);
  const extra = [...found.keys()].filter((name) => !serve.env.includes(name));
  if (extra.length > 0) return no(`the manifest does not name ${extra.join(", ")}`);
  return {
    kind: "ok",
    values: serve.env.map((name) => [name, new Secret(found.get(name) ?? "")] as const),
  };
}

function no(why: string): Refusal<"env_file_unusable"> {
  return refuse("env_file_unusable", `the file of this serve's variables: ${why}`, NEXT);
}
