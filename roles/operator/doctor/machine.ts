/**
 * What the operator stands on besides its home: programs, its own place, the disk, the shell.
 *
 * @module
 */

import { git } from "../../../lib/home/git.ts";
import { refuseGitTree } from "../../../lib/home/home_place.ts";
import { parent, within } from "../../../lib/host/paths.ts";
import type { Fleet, SshTransport } from "../../../lib/topology/shape.ts";
import type { Operator } from "../operator.ts";
import { fail, gathered, type Look, pass, unknown } from "./look.ts";

/** The oldest git that has every option that is used. */
const OLDEST_GIT = [2, 24] as const;
/** Less is too little for a generation and its receipts. */
const LEAST_FREE_BYTES = 256 * 1024 * 1024;
const MIB = 1024 * 1024;

/** git and its version. */
export async function lookAtGit({ ports }: Operator): Promise<Look> {
  const outcome = await git(ports, "/", ["--version"]);
  if (outcome.kind === "refused") {
    return fail("git", "", outcome.detail, outcome.nextStep ?? "install git");
  }
  const text = outcome.kind === "exited" ? new TextDecoder().decode(outcome.stdout).trim() : "";
  const [, major, minor] = /^git version (\d+)\.(\d+)/.exec(text) ?? [];
  if (major === undefined || minor === undefined) {
    return unknown("git", "", "git does not tell its version", "run `git --version`");
  }
  const old = Number(major) < OLDEST_GIT[0] ||
    (Number(major) === OLDEST_GIT[0] && Number(minor) < OLDEST_GIT[1]);
  return old
    ? fail("git", "", text, `install git ${OLDEST_GIT.join(".")} or newer`)
    : pass("git", text);
}

/** The SSH client, and the host keys that it will be held to. */
export async function lookAtSsh(
  { ports }: Operator,
  fleet: Fleet | null,
): Promise<readonly Look[]> {
  const transports = (fleet?.transports ?? []).filter((one) => one.kind === "ssh");
  const outcome = await ports.run({
    argv: ["ssh", "-V"],
    env: { PATH: ports.searchPath, LC_ALL: "C" },
    deadlineMs: 5000,
    maxOutputBytes: 64 * 1024,
  });
  const said = outcome.kind === "exited" && outcome.code === 0
    ? new TextDecoder().decode(outcome.stderr).trim().split("\n")[0] ?? ""
    : null;
  const next = "install OpenSSH's client, or put it on PATH";
  const client = said !== null && /^OpenSSH_/.test(said)
    ? pass("ssh", said)
    : fleet === null || transports.length === 0
    ? unknown("ssh", "", "there is no OpenSSH client, and no host is known to need one", next)
    : fail("ssh", "", `there is no OpenSSH client; ${transports.length} hosts need it`, next);
  const wrong = transports.filter(({ known_host }) => !isHostKey(known_host)).map(({ host }) =>
    fail("known_host", host, "its known_host is no public key", "take it from the host itself")
  );
  const well = fleet === null ? null : `${transports.length} host keys`;
  return [
    client,
    ...(well === null
      ? [unknown("known_host", "", "no topology is known", "see the checks of the home")]
      : gathered("known_host", wrong, well)),
  ];
}

/** `type base64`, in which the base64 begins with the same type again. */
function isHostKey(text: SshTransport["known_host"]): boolean {
  const [type = "", base64 = ""] = text.split(" ");
  try {
    const bytes = Uint8Array.fromBase64(base64);
    const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
    return new TextDecoder().decode(bytes.subarray(4, 4 + size)) === type;
  } catch {
    return false;
  }
}

/** Whether a branch switch could change this very program. */
export async function lookAtProgram({ ports, doctor }: Operator): Promise<Look> {
  const misplaced = await refuseGitTree(ports, doctor.programFolder);
  return misplaced === null
    ? pass("program", "outside every git tree")
    : misplaced.code === "home_in_git_tree"
    ? unknown(
      "program",
      "",
      "it runs from a git tree: a branch switch there is another operator",
      "fine while you work on it; a gateway runs an installed bundle",
    )
    : unknown("program", "", misplaced.detail, misplaced.nextStep ?? "see `git status` there");
}

/** Whether a shell can complete it. */
export async function lookAtCompletion({ ports, doctor }: Operator): Promise<Look> {
  const unread: string[] = [];
  for (const path of doctor.completionFiles) {
    const read = await ports.files.readBounded(path, 64 * 1024);
    if (read.kind === "refused") unread.push(path);
    if (read.kind !== "ok") continue;
    const asks = new TextDecoder().decode(read.bytes).includes("anvil-operator __complete");
    return asks ? pass("completion", path) : fail(
      "completion",
      path,
      "the script there does not ask this program",
      "write it anew: anvil-operator completions bash > THAT FILE",
    );
  }
  const where = unread.length > 0
    ? `${unread.length} usual places may not be read`
    : "in no usual place";
  return unknown(
    "completion",
    "",
    `${where}; your shell's own start files are not looked at`,
    "source <(anvil-operator completions bash), or zsh, fish",
  );
}

/** Room for the next generation. */
export async function lookAtDisk({ doctor }: Operator, home: string): Promise<Look> {
  let folder = home;
  let seen = await doctor.freeBytes(folder);
  // A home that is not there yet will be on the disk of its parent.
  while (seen.kind === "refused" && parent(folder) !== folder) {
    folder = parent(folder);
    seen = await doctor.freeBytes(folder);
  }
  if (seen.kind === "refused") {
    return unknown("disk_space", "", seen.detail, "look with `df`");
  }
  const free = `${Math.floor(seen.bytes / MIB)} MiB free`;
  return seen.bytes < LEAST_FREE_BYTES
    ? fail("disk_space", within(home, ""), free, "free space: the next set or token may not fit")
    : pass("disk_space", free);
}
