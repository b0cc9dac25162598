/**
 * The small Debian every host boots: systemd, sshd, git and what the roles ask. Made once by
 * debootstrap, and kept below `.tools/`.
 *
 * @module
 */

import { unmountBelow } from "./daemon.ts";
import { exists, run } from "./program.ts";

const ROOT = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");
/** Raise the number when the packages change. */
const CACHED = `${ROOT}/.tools/fleet-image-bookworm-1.tar`;
const PACKAGES = [
  ...["systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd"],
  ...["iproute2", "procps", "openssh-server", "openssh-client", "git"],
].join(",");
const MADE_IN = "anvil-debootstrap-";
const MAKE_MS = 1_200_000;

/** The path of the image's tar, made when it is not there yet; throws when it cannot be. */
export async function imageTar(tell: (line: string) => void): Promise<string> {
  if (await exists(CACHED)) return CACHED;
  tell("making a small Debian with debootstrap: once, two or three minutes");
  await Deno.mkdir(`${ROOT}/.tools`, { recursive: true });
  await removeLeftOvers();
  const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: `${MADE_IN}${Deno.pid}-` });
  try {
    const made = await run(
      ["debootstrap", "--variant=minbase", `--include=${PACKAGES}`, "bookworm", `${folder}/root`],
      { deadlineMs: MAKE_MS },
    );
    if (made.code !== 0) {
      throw new Error(`debootstrap: ${made.out.trim().split("\n").at(-1)} ${made.err.trim()}`);
    }
    const whole = `${CACHED}.${Deno.pid}`;
    const tar = await run([
      ...["tar", "-C", `${folder}/root`, "--exclude=./var/cache/apt/archives/*.deb"],
      ...["--exclude=./var/lib/apt/lists/*", "-cf", whole, "."],
    ]);
    if (tar.code !== 0) throw new Error(`tar: ${tar.err.trim()}`);
    await Deno.rename(whole, CACHED); // two fleets at once: each whole
    return CACHED;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Folders of makers that were interrupted; their process id is in the name. */
async function removeLeftOvers(): Promise<void> {
  for await (const { name } of Deno.readDir("/tmp")) {
    const [, pid] = new RegExp(`^${MADE_IN}(\\d+)-`).exec(name) ?? [];
    if (pid === undefined || await exists(`/proc/${pid}`)) continue;
    await unmountBelow(`/tmp/${name}`);
    await Deno.remove(`/tmp/${name}`, { recursive: true });
  }
}
