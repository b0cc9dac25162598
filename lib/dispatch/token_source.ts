/**
 * Where the token for a node is found: the first of these sources that has one.
 *
 *     --token-file FILE ─> ANVIL_TOKEN ─> the store: one file per name, mode 0600
 *
 * The first two are for a command on one host: a token belongs to a node. There is no flag with the
 * token itself: a command line is read by everybody on the machine.
 *
 * @module
 */

import type { Files } from "../core/files.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { Secret } from "../core/secret.ts";

/** What a command has of tokens. */
export interface TokenSources {
  readonly files: Files;
  /** What `--token-file` names. */
  readonly tokenFile: string | null;
  /** What `ANVIL_TOKEN` holds; empty is as good as not set. */
  readonly environment: Secret | null;
  /** The path of a name in the store; null when no store is known. */
  readonly storePath: ((name: string) => string) | null;
}

/** A token and where it is from. */
export type FoundToken =
  | { readonly kind: "ok"; readonly secret: Secret; readonly from: string }
  | Refusal<"credential_missing" | "credential_unusable">;

/** Bytes of a file with a token. */
const MOST_BYTES = 4096;

/** Finds the token called `name`. A refusal names every source that was looked at, and no value. */
export async function findToken(sources: TokenSources, name: string): Promise<FoundToken> {
  const looked: string[] = [];
  if (sources.tokenFile !== null) {
    const read = await readTokenFile(sources.files, sources.tokenFile);
    if (read.kind === "refused") return unusable("--token-file", read);
    if (read.kind === "ok") return { ...read, from: "--token-file" };
    looked.push("--token-file: no such file");
    return missing(name, looked);
  }
  looked.push("--token-file: not given");
  const { environment } = sources;
  if (environment !== null) {
    return wellFormed(environment.reveal())
      ? { kind: "ok", secret: environment, from: "ANVIL_TOKEN" }
      : unusable("ANVIL_TOKEN", refuse("credential_unusable", "it does not hold one token"));
  }
  looked.push("ANVIL_TOKEN: not set");
  if (sources.storePath === null) {
    looked.push("the token store: no home is known");
    return missing(name, looked);
  }
  const read = await readTokenFile(sources.files, sources.storePath(name));
  if (read.kind === "refused") return unusable(`${name} in the token store`, read);
  if (read.kind === "ok") return { ...read, from: "the token store" };
  looked.push(`the token store: no file ${name}`);
  return missing(name, looked);
}

/** Reads one token out of a private file. */
export async function readTokenFile(
  files: Files,
  path: string,
): Promise<
  { readonly kind: "ok"; readonly secret: Secret } | { readonly kind: "absent" } | Refusal
> {
  const privacy = await files.checkPrivate(path);
  if (privacy.kind === "absent") return privacy;
  if (privacy.kind === "refused") return privacy;
  // `unknown` is a platform that cannot tell; there the store stands under the user's own folder.
  const read = await files.readBounded(path, MOST_BYTES);
  if (read.kind !== "ok") return read;
  const text = new TextDecoder().decode(read.bytes).trim();
  return wellFormed(text)
    ? { kind: "ok", secret: new Secret(text) }
    : refuse("credential_unusable", "the file does not hold one token and nothing else");
}

/** No blanks, nothing that could end a header. */
function wellFormed(text: string): boolean {
  return /^[\x21-\x7e]{8,512}$/.test(text);
}

function missing(name: string, looked: readonly string[]): FoundToken {
  return refuse(
    "credential_missing",
    `no token ${name}; looked at: ${looked.join("; ")}`,
    `put one with mode 0600 into the token store, or have one made with \`tokens issue\``,
  );
}

function unusable(source: string, { detail, nextStep }: Refusal): FoundToken {
  return refuse("credential_unusable", `${source}: ${detail}`, nextStep);
}
