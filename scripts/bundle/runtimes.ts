/**
 * The official runtime packages on npm, unmodified: which there are, and exactly which bytes they are.
 *
 * npm fetches them (its settings, its cache, its proxy); what it brings is compared with the
 * integrity below. A package that was fetched once is kept, and needs no network again.
 *
 * @module
 */

/** A platform we ship for. */
export interface Target {
  /** As the files are called. */
  readonly name: string;
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "x64" | "arm64";
  /** The npm package with the runtime. */
  readonly npm: string;
  /** Of the package at {@link DENO_VERSION}, as npm's registry says. */
  readonly integrity: string;
}

/** The version all integrities are of; the pinned one of scripts/deno_path. */
export const DENO_VERSION = "2.9.6";

/** Every platform, in order. */
export const TARGETS: readonly Target[] = [
  {
    name: "linux-x64",
    os: "linux",
    arch: "x64",
    npm: "@deno/linux-x64-glibc",
    integrity:
      "sha512-3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==",
  },
  {
    name: "darwin-arm64",
    os: "darwin",
    arch: "arm64",
    npm: "@deno/darwin-arm64",
    integrity:
      "sha512-V8uO1Aolrl/yvdMb5lOtgtigs8YuZBjrOrgviVMiYkQ0swymFfzkae1wZak4Xi24t7vf7d/eiMb/7ryjjVm+tg==",
  },
  {
    name: "windows-x64",
    os: "windows",
    arch: "x64",
    npm: "@deno/win32-x64",
    integrity:
      "sha512-qRGnmVz/Ea6UWPht/S3xFRK17UZ/ls38DSVfgGB17fpASLxPkksqzWUI/BzL9YYoOknYzfc94mySGyInZu/JXw==",
  },
];

/** The runtime's file name. */
export function runtimeName({ os }: Target): string {
  return os === "windows" ? "deno.exe" : "deno";
}

/** The runtime of `target`: from `store` when it was fetched before, otherwise by npm. */
export async function readRuntime(target: Target, store: string): Promise<Uint8Array> {
  const scratch = await Deno.makeTempDir({ prefix: "anvil-runtime-" });
  try {
    const kept = `${store}/${target.npm.replace("@deno/", "deno-")}-${DENO_VERSION}.tgz`;
    if (!await hasIntegrity(kept, target.integrity)) await fetchPackage(target, kept, scratch);
    const name = `package/${runtimeName(target)}`;
    await run("tar", ["-xzf", kept, "-C", scratch, name], `unpack ${target.npm}`);
    const bytes = await Deno.readFile(`${scratch}/${name}`);
    const found = programKind(bytes);
    if (found === target.name) return bytes;
    throw new Error(`${target.npm} holds a program for ${found ?? "nothing known"}`);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Which platform's program this is, by its first bytes; null when it is none of ours. */
export function programKind(bytes: Uint8Array): string | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 4096));
  if (view.byteLength < 64) return null;
  if (view.getUint32(0) === 0x7f454c46) {
    return view.getUint16(18, true) === 62 ? "linux-x64" : null; // ELF, x86-64
  }
  if (view.getUint32(0, true) === 0xfeedfacf) {
    return view.getUint32(4, true) === 0x0100000c ? "darwin-arm64" : null; // Mach-O, arm64
  }
  const header = view.getUint32(0x3c, true);
  if (view.getUint16(0) !== 0x4d5a || header + 6 > view.byteLength) return null;
  const isPe = view.getUint32(header) === 0x50450000;
  return isPe && view.getUint16(header + 4, true) === 0x8664 ? "windows-x64" : null;
}

async function fetchPackage(target: Target, kept: string, scratch: string): Promise<void> {
  const spec = `${target.npm}@${DENO_VERSION}`;
  console.error(`fetching ${spec} by npm`);
  const windows = Deno.build.os === "windows";
  const args = ["pack", "--silent", "--pack-destination", scratch, spec];
  const said = await run(windows ? "npm.cmd" : "npm", args, `fetch ${spec}`);
  const fetched = `${scratch}/${said.trim().split("\n").at(-1) ?? ""}`;
  if (!await hasIntegrity(fetched, target.integrity)) {
    throw new Error(
      `npm brought a ${spec} that is not the pinned one: expected ${target.integrity}`,
    );
  }
  await Deno.mkdir(kept.slice(0, kept.lastIndexOf("/")), { recursive: true });
  // Copied beside and renamed: an interrupted copy must not be found later.
  await Deno.copyFile(fetched, `${kept}.tmp`);
  await Deno.rename(`${kept}.tmp`, kept);
}

async function hasIntegrity(path: string, integrity: string): Promise<boolean> {
  const bytes = await Deno.readFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  });
  if (bytes === null) return false;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-512", bytes));
  const expected = Uint8Array.fromBase64(integrity.replace(/^sha512-/, ""));
  return digest.every((byte, at) => byte === expected[at]) && digest.length === expected.length;
}

async function run(program: string, args: readonly string[], doing: string): Promise<string> {
  const command = new Deno.Command(program, { args: [...args], stdin: "null" });
  const { code, stdout, stderr } = await command.output().catch((cause) => {
    throw new Error(`could not ${doing}: ${program} does not start`, { cause });
  });
  const text = new TextDecoder();
  if (code !== 0) {
    throw new Error(`could not ${doing}: ${program} says ${text.decode(stderr).trim()}`);
  }
  return text.decode(stdout);
}
