/**
 * The files of one commit, from its objects: the working tree is never read, and refused when it is
 * dirty, so that what is reviewed and what a person sees there are the same thing.
 *
 *     repository ── clean, or bare? ── revision -> commit ── ls-tree ── rules ── cat-file ──> bytes
 *
 * @module
 */

import { git, gitFailed, type GitOutcome } from "./git.ts";
import { type HomePorts, type HomeRefusal, homeRefusal, type InvalidSet } from "./ports.ts";
import { findTreeProblems, MOST_BYTES, MOST_FILES, type TreeEntry } from "./tree_rules.ts";

/** What to export. */
export interface ExportAsk {
  /** A repository, bare or not, on this machine. */
  readonly repo: string;
  /** Whatever git resolves to one commit. */
  readonly rev: string;
  /** A directory of the commit; all of it when empty. */
  readonly path: string;
}

/** One file, whole. */
export interface ExportedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** The files of a commit, by path in ascending order. */
export interface Exported {
  readonly kind: "exported";
  /** The commit's full id. */
  readonly commit: string;
  readonly files: readonly ExportedFile[];
}

type Git = Pick<HomePorts, "run" | "searchPath">;

const OBJECT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
/** `mode type object size TAB path`, as `ls-tree -l` pads it. */
const ENTRY = /^(\d{6}) (\w+) ([0-9a-f]+) +(-|\d+)\t(.*)$/s;

/** Exports `ask`, or says why not. */
export async function exportCommit(
  ports: Git,
  ask: ExportAsk,
): Promise<Exported | InvalidSet | HomeRefusal> {
  if (/(^|\/)(\.{0,2})(\/|$)|[\\:\p{C}]/u.test(ask.path) && ask.path !== "") {
    return homeRefusal("path_unknown", "expected a directory of the commit, as fleet/home");
  }
  const unclean = await refuseDirty(ports, ask.repo);
  if (unclean !== null) return unclean;
  const commit = await commitOf(ports, ask);
  if (typeof commit !== "string") return commit;
  const entries = await treeOf(ports, ask, commit);
  if ("kind" in entries) return entries;
  const problems = findTreeProblems(entries);
  if (problems.length > 0) return { kind: "invalid", problems };
  const files = await blobsOf(ports, ask.repo, entries);
  return "kind" in files ? files : { kind: "exported", commit, files };
}

async function refuseDirty(ports: Git, repo: string): Promise<HomeRefusal | null> {
  const bare = await git(ports, repo, ["rev-parse", "--is-bare-repository"]);
  if (bare.kind !== "exited") return gitFailed("the repository", bare);
  if (bare.code !== 0) {
    return homeRefusal("repo_unknown", "this is no git repository, or not one of yours", {
      nextStep: "name a clone that belongs to the user who runs this",
      cause: bare.stderr.trim().slice(0, 500),
    });
  }
  if (textOf(bare.stdout).trim() === "true") return null;
  const status = await git(
    ports,
    repo,
    ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=none"],
    { maxOutputBytes: 4 * 1024 * 1024 },
  );
  if (status.kind !== "output_too_large") {
    if (status.kind !== "exited" || status.code !== 0) {
      return gitFailed("whether the repository is clean", status);
    }
    if (status.stdout.length === 0) return null;
  }
  return homeRefusal("repo_dirty", "the working tree of the repository differs from its commit", {
    nextStep: "see `git status`: commit, stash or ignore what it lists, or name a bare clone",
  });
}

async function commitOf(ports: Git, { repo, rev }: ExportAsk): Promise<string | HomeRefusal> {
  if (!/^[^-\p{C}\s][^\p{C}\s]{0,255}$/u.test(rev)) {
    return homeRefusal("rev_malformed", "expected a commit id, a tag or a branch", {
      nextStep: "name one with --rev, best the full commit id",
    });
  }
  const parsed = await git(
    ports,
    repo,
    ["rev-parse", "--verify", "--quiet", "--end-of-options", `${rev}^{commit}`],
  );
  if (parsed.kind !== "exited") return gitFailed("the revision", parsed);
  const commit = textOf(parsed.stdout).trim();
  if (parsed.code === 0 && OBJECT.test(commit)) return commit;
  return rev.endsWith("-dirty")
    ? homeRefusal("rev_dirty", "this names a state that was never committed", {
      nextStep: "commit it, then name the commit",
    })
    : homeRefusal("commit_unknown", "the repository has no such commit", {
      nextStep: "see `git log`; a commit of another clone has to be fetched first",
    });
}

async function treeOf(
  ports: Git,
  { repo, path }: ExportAsk,
  commit: string,
): Promise<readonly TreeEntry[] | HomeRefusal> {
  const tree = await git(
    ports,
    repo,
    ["ls-tree", "-r", "-z", "-l", "--full-tree", path === "" ? commit : `${commit}:${path}`],
    { maxOutputBytes: MOST_FILES * 1200 },
  );
  if (tree.kind === "output_too_large") return tooMany();
  if (tree.kind !== "exited") return tree;
  if (tree.code !== 0 && path !== "") {
    return homeRefusal("path_unknown", "the commit has no directory of that name");
  }
  if (tree.code !== 0) return gitFailed("the commit's tree", tree);
  const entries: TreeEntry[] = [];
  for (const line of textOf(tree.stdout).split("\0")) {
    if (line === "") continue;
    const [, mode = "", type = "", object = "", size = "-", name = ""] = ENTRY.exec(line) ?? [];
    if (!OBJECT.test(object)) return gitFailed("the commit's tree, which cannot be read", tree);
    entries.push({ mode, type, object, size: size === "-" ? null : Number(size), path: name });
  }
  if (entries.length > MOST_FILES) return tooMany();
  const total = entries.reduce((sum, { size }) => sum + (size ?? 0), 0);
  if (total > MOST_BYTES) {
    return homeRefusal("files_too_large", `${total} bytes in all, of at most ${MOST_BYTES}`, {
      nextStep: "export only the directory of the fleet, with --path",
    });
  }
  return entries;
}

function tooMany(): HomeRefusal {
  return homeRefusal("too_many_files", `the commit holds more than ${MOST_FILES} files`, {
    nextStep: "export only the directory of the fleet, with --path",
  });
}

async function blobsOf(
  ports: Git,
  repo: string,
  entries: readonly TreeEntry[],
): Promise<readonly ExportedFile[] | HomeRefusal> {
  const asked = new TextEncoder().encode(entries.map(({ object }) => `${object}\n`).join(""));
  const total = entries.reduce((sum, { size }) => sum + (size ?? 0) + 128, 0);
  const batch = await git(ports, repo, ["cat-file", "--batch"], {
    stdin: asked,
    maxOutputBytes: total,
  });
  if (batch.kind === "output_too_large") return changed();
  if (batch.kind !== "exited" || batch.code !== 0) return gitFailed("the commit's files", batch);
  return split(batch, entries);
}

/** `object blob size LF bytes LF` for each entry, in order. */
function split(
  { stdout }: Extract<GitOutcome, { kind: "exited" }>,
  entries: readonly TreeEntry[],
): readonly ExportedFile[] | HomeRefusal {
  const files: ExportedFile[] = [];
  let at = 0;
  for (const { object, size, path } of entries) {
    const end = stdout.indexOf(0x0a, at);
    if (end === -1) return changed();
    const expected = `${object} blob ${size}`;
    if (size === null || textOf(stdout.subarray(at, end)) !== expected) return changed();
    const bytes = stdout.slice(end + 1, end + 1 + size);
    at = end + 1 + size + 1;
    if (bytes.length !== size || stdout[at - 1] !== 0x0a) return changed();
    files.push({ path, bytes });
  }
  if (at !== stdout.length) return changed();
  return files.sort((left, right) => left.path < right.path ? -1 : 1);
}

function changed(): HomeRefusal {
  return homeRefusal(
    "file_changed_while_read",
    "an object of the commit is missing, or not what the tree says of it",
    { nextStep: "check the repository with `git fsck`" },
  );
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
