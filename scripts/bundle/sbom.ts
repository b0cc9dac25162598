/**
 * What of other people is in a bundle: CycloneDX, out of what the scripts hold and what deno.lock says
 * of it, and the licences, out of the packages themselves.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { VERSION } from "../../lib/core/version.ts";
import { DENO_VERSION, type Target } from "./runtimes.ts";

/** One npm package in the scripts. */
export interface Package {
  readonly name: string;
  readonly version: string;
  /** As deno.lock says: `sha512-…`. */
  readonly integrity: string;
  /** SPDX, as the package says; null when it does not. */
  readonly license: string | null;
  /** The text it brings; null when it brings none. */
  readonly licenseText: string | null;
}

/** What is needed of deno.lock. */
export interface Lock {
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

/** `name@version` of every package whose modules are in `scripts`, in order. */
export function packagesIn(scripts: Iterable<string>): readonly string[] {
  const found = new Set<string>();
  const place = /npm\/((?:@[\w.-]+\/)?[\w.-]+)\/(\d[\w.+-]*)\//g;
  for (const script of scripts) {
    for (const [, name, version] of script.matchAll(place)) found.add(`${name}@${version}`);
  }
  return [...found].sort();
}

/** What lock and package say. Throws for one that deno.lock does not know: it came from elsewhere. */
export async function describePackage(
  spec: string,
  lock: Lock,
  packages: string,
): Promise<Package> {
  const entry = Object.entries(lock.npm).find(([key]) =>
    key === spec || key.startsWith(`${spec}_`)
  );
  if (entry === undefined) throw new Error(`${spec} is in a script and not in deno.lock`);
  const at = spec.lastIndexOf("@");
  const [name, version] = [spec.slice(0, at), spec.slice(at + 1)];
  const folder = await folderOf(`${name}/${version}`, packages);
  const facts = JSON.parse(await Deno.readTextFile(`${folder}/package.json`)) as {
    readonly license?: unknown;
  };
  const names: string[] = [];
  for await (const one of Deno.readDir(folder)) {
    if (one.isFile && /^(licen[cs]e|copying|notice)/i.test(one.name)) names.push(one.name);
  }
  const texts = await Promise.all(
    names.sort().map((one) => Deno.readTextFile(`${folder}/${one}`)),
  );
  return {
    name,
    version,
    integrity: entry[1].integrity,
    license: typeof facts.license === "string" ? facts.license : null,
    licenseText: texts.length === 0 ? null : texts.join("\n"),
  };
}

/** Below the packages' folder comes the registry they are from, which may be a mirror. */
async function folderOf(place: string, packages: string): Promise<string> {
  for await (const { name } of Deno.readDir(packages)) {
    const folder = `${packages}/${name}/${place}`;
    if (await Deno.stat(`${folder}/package.json`).then(() => true, () => false)) return folder;
  }
  throw new Error(`${place} is in a script and not in the cache of npm packages`);
}

/** `sbom.cdx.json`: no time, no serial number, so that two builds have one digest. */
export function sbomOf(target: Target, packages: readonly Package[]): Json {
  const name = "anvil-fleet";
  const root = `pkg:generic/${name}@${VERSION}`;
  const runtime = purl(target.npm, DENO_VERSION);
  const component = ({ name, version, integrity, license }: Omit<Package, "licenseText">) => ({
    type: "library",
    "bom-ref": purl(name, version),
    name,
    version,
    purl: purl(name, version),
    hashes: [{ alg: "SHA-512", content: hexOf(integrity) }],
    ...(license === null ? {} : { licenses: [{ expression: license }] }),
  });
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "application", "bom-ref": root, name, version: VERSION } },
    components: [
      {
        ...component({
          name: target.npm,
          version: DENO_VERSION,
          integrity: target.integrity,
          license: "MIT",
        }),
        type: "platform",
        description: "The runtime, unmodified; the hash is of its npm package",
      },
      ...packages.map(component),
    ],
    dependencies: [
      { ref: root, dependsOn: [runtime, ...packages.map((one) => purl(one.name, one.version))] },
    ],
  };
}

/** `licenses.txt`. */
export function licensesOf(packages: readonly Package[]): string {
  const rule = "-".repeat(80);
  return packages.map(({ name, version, license, licenseText }) =>
    `${name} ${version} (${license ?? "licence not stated"})\n${rule}\n` +
    `${licenseText?.trim() ?? "The package brings no licence text."}\n`
  ).join("\n\n");
}

function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function hexOf(integrity: string): string {
  return Uint8Array.fromBase64(integrity.replace(/^sha512-/, "")).toHex();
}
