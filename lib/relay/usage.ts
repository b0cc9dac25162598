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
  const key = /(?<!\\)"usage"\s*:\s*\{/g;
  let last: RegExpExecArray | null = null;
  for (let match = key.exec(text); match !== null; match = key.exec(text)) last = match;
  if (last === null) return null;
  const flat = flatObject(text, last.index + last[0].length);
  if (flat === null) return null;
  const input = count(flat, "prompt_tokens") ?? count(flat, "input_tokens");
  const output = count(flat, "completion_tokens") ?? count(flat, "output_tokens");
  return input === null && output === null ? null : { input_tokens: input, output_tokens: output };
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

function count(flat: string, name: string): number | null {
  const match = new RegExp(`"${name}"\\s*:\\s*(\\d{1,15})(?![\\d.eE])`).exec(flat);
  return match === null ? null : Number(match[1]);
}
