/**
 * The command of a process without the secrets in it.
 *
 * @module
 */

import { maskText } from "../../../lib/core/mask.ts";
import { maskSecretShapes } from "../../../lib/topology/forbidden.ts";

const MASK = "[secret]";
/** Characters of a command that are told. */
const MOST = 8192;

/** Names whose values are secrets: `--api-key`, `--hf-token=`, `AWS_SECRET=`; not `--max-tokens`. */
const NAME =
  /^(?:--?)?(?:[a-z0-9]+[-_.])*(?:api[-_]?keys?|keys?|token|secrets?|pass(?:word|wd|phrase|code)?|pwd|credentials?|authorization|auth|bearer)$/i;

/**
 * Masks what follows the name of a secret, up to the next option: how many words a value has cannot
 * be told from a joined command, and some options take several. Then whatever has the shape of a
 * secret by itself, and runs that nobody writes by hand.
 */
export function maskCommand(command: string): string {
  const words: string[] = [];
  let hidden = false;
  for (const word of command.slice(0, MOST).split(" ")) {
    const unquoted = word.replace(/^["']+/, "");
    const [name = "", value] = cutAt(unquoted, "=");
    if (value !== undefined && NAME.test(name)) {
      words.push(`${name}=${MASK}`);
      hidden = true;
    } else if (unquoted.startsWith("-")) {
      words.push(word);
      hidden = NAME.test(unquoted.replace(/["']+$/, "")) && /^--?[a-z]/i.test(unquoted);
    } else if (!hidden) words.push(word);
    else if (words.at(-1) !== MASK && !words.at(-1)?.endsWith(MASK)) words.push(MASK);
  }
  return maskSecretShapes(maskText(words.join(" ")))
    .replaceAll(/[A-Za-z0-9+_=]{32,}/g, (run) => handWritten(run) ? run : MASK);
}

function handWritten(run: string): boolean {
  return !(/[a-z]/.test(run) && /[A-Z]/.test(run) && /[0-9]/.test(run));
}

function cutAt(word: string, mark: string): [string, string?] {
  const at = word.indexOf(mark);
  return at === -1 ? [word] : [word.slice(0, at), word.slice(at + 1)];
}
