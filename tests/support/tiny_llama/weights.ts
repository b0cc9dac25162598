/**
 * A llama of random weights, a few hundred thousand numbers from a seed: small enough for a test, and
 * a real model to a real engine. Its tokens are bytes; it answers in printable ones alone.
 *
 * @module
 */

/** Its dimensions. */
export const SHAPE = {
  layers: 2,
  width: 64,
  heads: 4,
  headWidth: 16,
  forward: 128,
  context: 1024,
  epsilon: 1e-5,
  ropeBase: 10_000,
} as const;

/** `<unk>`, `<s>`, `</s>`, then 256 bytes. */
export const VOCABULARY = 259;
/** The token of a byte. */
export const FIRST_BYTE = 3;

/** One tensor: rows of `columns` numbers, row after row; a vector has one row. */
export interface Tensor {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly values: Float32Array<ArrayBuffer>;
}

/** Every tensor, by the names that GGUF gives them. A matrix maps `columns` inputs to `rows` outputs. */
export function tinyLlama(seed: number): ReadonlyMap<string, Tensor> {
  const random = gaussian(seed);
  const tensors = new Map<string, Tensor>();
  const add = (name: string, rows: number, columns: number, next: (row: number) => number) => {
    const values = new Float32Array(rows * columns);
    for (let at = 0; at < values.length; at++) values[at] = next(Math.floor(at / columns));
    tensors.set(name, { name, rows, columns, values });
  };
  const { layers, width, forward } = SHAPE;
  const matrix = (name: string, rows: number, columns: number) =>
    add(name, rows, columns, () => 2.5 * random() / Math.sqrt(columns));
  const norm = (name: string) => add(name, 1, width, () => 1 + random() / 20);
  add("token_embd.weight", VOCABULARY, width, () => random() / 2);
  for (let layer = 0; layer < layers; layer++) {
    const of = (name: string) => `blk.${layer}.${name}.weight`;
    norm(of("attn_norm"));
    for (const name of ["attn_q", "attn_k", "attn_v", "attn_output"]) {
      matrix(of(name), width, width);
    }
    norm(of("ffn_norm"));
    matrix(of("ffn_gate"), forward, width);
    matrix(of("ffn_up"), forward, width);
    matrix(of("ffn_down"), width, forward);
  }
  norm("output_norm.weight");
  // What cannot be printed gets no weight, and the likeliest of many random ones is above zero.
  add("output.weight", VOCABULARY, width, (row) => {
    const value = random() / Math.sqrt(width) * 4;
    return isPrintable(row) ? value : 0;
  });
  return tensors;
}

/** True for the token of a byte that can be printed. */
export function isPrintable(token: number): boolean {
  return token >= FIRST_BYTE + 0x20 && token < FIRST_BYTE + 0x7f;
}

/** The tokens of a text: its bytes. */
export function tokensOf(text: string): number[] {
  return [...new TextEncoder().encode(text)].map((byte) => byte + FIRST_BYTE);
}

/** The text of a token. */
export function textOf(token: number): string {
  return token >= FIRST_BYTE ? String.fromCharCode(token - FIRST_BYTE) : "";
}

/** Normally distributed numbers from a seed: the same on every machine that adds as IEEE 754 says. */
function gaussian(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return () => {
    let sum = -6;
    for (let part = 0; part < 12; part++) sum += uniform();
    return sum;
  };
}
