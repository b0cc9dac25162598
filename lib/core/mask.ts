/**
 * What must not be printed is replaced by a mask: our own tokens wherever they stand in a text, and
 * the values of authorization headers.
 *
 * @module
 */

/** One form a secret takes in a text, and what stands there afterwards. */
export interface MaskRule {
  readonly pattern: RegExp;
  readonly replacement: string;
}

/** Our own tokens: `anvil_` and 43 characters of base64url, which is 256 bits. */
export const TOKEN_PATTERN = /anvil_[A-Za-z0-9_-]{43}/g;

/** Applied in this order to every line of a log and of a record file. */
export const MASK_RULES: readonly MaskRule[] = [
  { pattern: TOKEN_PATTERN, replacement: "anvil_[secret]" },
  // A token cut short, by a length limit or a bad copy, still gives most of itself away.
  { pattern: /anvil_[A-Za-z0-9_-]{16,}/g, replacement: "anvil_[secret]" },
  {
    pattern: /\b(bearer|basic)(\s+|%20)(?!\[secret\])[A-Za-z0-9._~+/=-]{8,}/gi,
    replacement: "$1$2[secret]",
  },
  // Quoted, as in JSON (also JSON inside JSON), then bare, as in a header or an environment.
  // The two quotes are equally deep: what follows a quote that ends a text is not the value.
  {
    pattern: /((?:x-api-key|api[-_]key)(\\*")\s*[:,]\s*\2)[^"\\]+/gi,
    replacement: "$1[secret]",
  },
  {
    pattern: /((?:x-api-key|api[-_]key)\s*[:=]\s*)(?!\[secret\])[^\s"'\\,;}\]]+/gi,
    replacement: "$1[secret]",
  },
];

/** Cheap look before the rules: most lines hold none of these. */
const HINT = /anvil_|bearer|basic|api[-_]key/i;

/** `text` without anything a {@link MASK_RULES} entry finds. JSON in gives JSON out. */
export function maskText(text: string): string {
  if (!HINT.test(text)) return text;
  let masked = text;
  for (const rule of MASK_RULES) masked = masked.replaceAll(rule.pattern, rule.replacement);
  return masked;
}

/** Names of fields whose value is never printed, whatever it is. Counts of tokens are no tokens. */
export const SECRET_FIELDS: readonly RegExp[] = [
  /^(proxy-?)?authorization$/i,
  /^(x-)?api[-_]?key$/i,
  /^(set-)?cookie$/i,
  /^([a-z]+[-_])*(token|secrets?|passwords?|passphrase|credentials?|private[-_]?key)$/i,
  /^[a-z]+(Token|Secret|Password|Passphrase|PrivateKey|ApiKey)$/,
];
