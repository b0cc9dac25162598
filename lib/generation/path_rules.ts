/**
 * Names that mean the same on every file system, and lead nowhere else.
 *
 * @module
 */

/** Names Windows keeps for devices, with any ending. */
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$|clock\$)(\..*)?$/i;

/** Bytes of UTF-8. */
const MOST_PATH_BYTES = 1024;
const MOST_NAME_BYTES = 200;

/** Why a relative path with `/` is not taken, as words; null when it is fine. */
export function pathFault(path: string): string | null {
  if (!path.isWellFormed() || path.includes("\ufffd")) return "the name is not UTF-8";
  if (bytesOf(path) > MOST_PATH_BYTES) return `the path is longer than ${MOST_PATH_BYTES} bytes`;
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === "..") return "the path leaves its directory";
    if (part.toLowerCase() === ".git") return "a part of the path is called .git";
    if (bytesOf(part) > MOST_NAME_BYTES) return `a name is longer than ${MOST_NAME_BYTES} bytes`;
    if (/[\\:*?"<>|]|\p{C}/u.test(part)) return "a name holds a character that some systems refuse";
    if (/[. ]$/.test(part) || DEVICE.test(part)) return "a name means something else on Windows";
    if (/^\..*\.tmp$/.test(part)) return "a name looks like an unfinished file of ours";
  }
  return null;
}

/** Two paths that cannot both be, where case and accents are not kept apart. */
export interface Collision {
  readonly path: string;
  readonly first: string;
}

/**
 * Files, or directories above them, that are one where case or accents are not kept apart; and a
 * file whose name is a directory of another. In the order of `paths`, one per path.
 */
export function findCollisions(paths: readonly string[]): readonly Collision[] {
  const seen = new Map<string, { readonly spelled: string; readonly isFile: boolean }>();
  const collisions: Collision[] = [];
  for (const path of paths) {
    const parts = path.split("/");
    for (let end = 1; end <= parts.length; end++) {
      const spelled = parts.slice(0, end).join("/");
      const isFile = end === parts.length;
      const folded = spelled.normalize("NFC").toLowerCase();
      const first = seen.get(folded);
      if (first === undefined) seen.set(folded, { spelled, isFile });
      else if (first.spelled !== spelled || isFile || first.isFile) {
        collisions.push({ path, first: first.spelled });
        break;
      }
    }
  }
  return collisions;
}

/** A name from a stranger may hold anything, terminal sequences too. */
export function printable(path: string): string {
  return /^[\x20-\x7e]*$/.test(path) ? path : JSON.stringify(path).replaceAll(
    /[^\x20-\x7e]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
