/**
 * Refusals are values: something asked for was understood and is not going to happen. A caller
 * must switch on them. Bugs are throws and never take this shape.
 *
 * @module
 */

/** A refusal: a stable `code` for machines, one `detail` sentence for people. */
export interface Refusal<Code extends string = string> {
  readonly kind: "refused";
  readonly code: Code;
  /** One sentence: what was observed, what was expected. Holds no address, path or secret. */
  readonly detail: string;
  /** What a person does next, where that helps. */
  readonly nextStep?: string;
}

/** Makes a {@link Refusal}. */
export function refuse<Code extends string>(
  code: Code,
  detail: string,
  nextStep?: string,
): Refusal<Code> {
  return nextStep === undefined
    ? { kind: "refused", code, detail }
    : { kind: "refused", code, detail, nextStep };
}
