/**
 * What an engine stated of its own token counts. Evidence for the record; nothing depends on it.
 *
 * @module
 */

/** Token counts as stated. A count that was not stated is null, never 0. */
export type Usage = {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
};

/**
 * The last `"usage": {…}` in `text`, which may begin in the middle of a JSON document. Inside JSON
 * strings the quotes are escaped, so a completion that talks about usage is not mistaken for one.
 */
export function usageIn(text: string): Usage | null {
  const start = lastUsage(text);
  if (start === null) return null;
  const flat = flatObject(text, start);
  if (flat === null) return null;
  const input = count(flat, PROMPT_TOKENS) ?? count(flat, INPUT_TOKENS);
  const output = count(flat, COMPLETION_TOKENS) ?? count(flat, OUTPUT_TOKENS);
  return input === null && output === null ? null : { input_tokens: input, output_tokens: output };
}

const KEY = '"usage"';
const OPENS = /\s*:\s*\{/y;

const counted = (name: string) => new RegExp(`"${name}"\\s*:\\s*(\\d{1,15})(?![\\d.eE])`);
const PROMPT_TOKENS = counted("prompt_tokens");
const INPUT_TOKENS = counted("input_tokens");
const COMPLETION_TOKENS = counted("completion_tokens");
const OUTPUT_TOKENS = counted("output_tokens");

/** Where the members of the last usage object begin; null when there is none. */
function lastUsage(text: string): number | null {
  for (let at = text.lastIndexOf(KEY); at >= 0; at = at > 0 ? text.lastIndexOf(KEY, at - 1) : -1) {
    OPENS.lastIndex = at + KEY.length;
    if (text[at - 1] !== "\\" && OPENS.test(text)) return OPENS.lastIndex;
  }
  return null;
}

/** The two halves of a streamed usage put together: what `later` does not state, `earlier` may. */
export function mergeUsage(earlier: Usage | null, later: Usage | null): Usage | null {
  if (earlier === null || later === null) return later ?? earlier;
  return {
    input_tokens: later.input_tokens ?? earlier.input_tokens,
    output_tokens: later.output_tokens ?? earlier.output_tokens,
  };
}

/** The object's own members from `start` (after its `{`), nested ones cut out; null when it is cut. */
function flatObject(text: string, start: number): string | null {
  let depth = 0;
  let flat = "";
  for (let i = start; i < text.length; i++) {
    const letter = text[i];
    if (letter === "{") depth++;
    else if (letter === "}") {
      if (depth === 0) return flat;
      depth--;
    } else if (depth === 0) flat += letter;
  }
  return null;
}

function count(flat: string, key: RegExp): number | null {
  const match = key.exec(flat);
  return match === null ? null : Number(match[1]);
}
