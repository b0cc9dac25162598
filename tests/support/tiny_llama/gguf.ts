/**
 * The tiny llama as a GGUF file, version 3: what llama.cpp loads.
 *
 * @module
 */

import { FIRST_BYTE, SHAPE, type Tensor, VOCABULARY } from "./weights.ts";

const ALIGNMENT = 32;
const encoder = new TextEncoder();

const U32 = 4;
const I32 = 5;
const F32 = 6;
const BOOL = 7;
const STRING = 8;
const ARRAY = 9;

/** Grows; numbers little-endian. */
class Bytes {
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];
  length = 0;

  put(bytes: Uint8Array<ArrayBuffer>): void {
    this.#parts.push(bytes);
    this.length += bytes.length;
  }

  u32(value: number): void {
    this.put(new Uint8Array(new Uint32Array([value]).buffer));
  }

  u64(value: number): void {
    this.put(new Uint8Array(new BigUint64Array([BigInt(value)]).buffer));
  }

  i32(value: number): void {
    this.put(new Uint8Array(new Int32Array([value]).buffer));
  }

  f32(value: number): void {
    this.put(new Uint8Array(new Float32Array([value]).buffer));
  }

  text(text: string): void {
    const bytes = encoder.encode(text);
    this.u64(bytes.length);
    this.put(bytes);
  }

  align(): void {
    this.put(new Uint8Array((ALIGNMENT - this.length % ALIGNMENT) % ALIGNMENT));
  }

  async whole(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await new Blob(this.#parts).arrayBuffer());
  }
}

type Value =
  | { readonly type: typeof U32 | typeof F32; readonly value: number }
  | { readonly type: typeof BOOL; readonly value: boolean }
  | { readonly type: typeof STRING; readonly value: string }
  | { readonly type: typeof ARRAY; readonly of: typeof STRING; readonly value: readonly string[] }
  | {
    readonly type: typeof ARRAY;
    readonly of: typeof F32 | typeof I32;
    readonly value: readonly number[];
  };

const u32 = (value: number): Value => ({ type: U32, value });
const text = (value: string): Value => ({ type: STRING, value });

function facts(): readonly (readonly [string, Value])[] {
  const { layers, width, heads, headWidth, forward, context, epsilon, ropeBase } = SHAPE;
  const tokens = Array.from(
    { length: VOCABULARY },
    (_, token) =>
      token < FIRST_BYTE
        ? ["<unk>", "<s>", "</s>"][token] ?? ""
        : `<0x${(token - FIRST_BYTE).toString(16).toUpperCase().padStart(2, "0")}>`,
  );
  const types = tokens.map((_, token) => token === 0 ? 2 : token < FIRST_BYTE ? 3 : 6);
  return [
    ["general.architecture", text("llama")],
    ["general.name", text("tiny")],
    ["general.file_type", u32(0)],
    ["llama.context_length", u32(context)],
    ["llama.embedding_length", u32(width)],
    ["llama.block_count", u32(layers)],
    ["llama.feed_forward_length", u32(forward)],
    ["llama.rope.dimension_count", u32(headWidth)],
    ["llama.rope.freq_base", { type: F32, value: ropeBase }],
    ["llama.attention.head_count", u32(heads)],
    ["llama.attention.head_count_kv", u32(heads)],
    ["llama.attention.layer_norm_rms_epsilon", { type: F32, value: epsilon }],
    ["llama.vocab_size", u32(VOCABULARY)],
    ["tokenizer.ggml.model", text("llama")],
    ["tokenizer.ggml.tokens", { type: ARRAY, of: STRING, value: tokens }],
    ["tokenizer.ggml.scores", { type: ARRAY, of: F32, value: tokens.map(() => 0) }],
    ["tokenizer.ggml.token_type", { type: ARRAY, of: I32, value: types }],
    ["tokenizer.ggml.bos_token_id", u32(1)],
    ["tokenizer.ggml.eos_token_id", u32(2)],
    ["tokenizer.ggml.unknown_token_id", u32(0)],
    ["tokenizer.ggml.add_bos_token", { type: BOOL, value: false }],
    ["tokenizer.ggml.add_space_prefix", { type: BOOL, value: false }],
  ];
}

function put(into: Bytes, value: Value): void {
  into.u32(value.type);
  if (value.type === ARRAY) {
    into.u32(value.of);
    into.u64(value.value.length);
    if (value.of === STRING) value.value.forEach((one) => into.text(one));
    else value.value.forEach((one) => value.of === F32 ? into.f32(one) : into.i32(one));
  } else if (value.type === STRING) into.text(value.value);
  else if (value.type === BOOL) into.put(new Uint8Array([value.value ? 1 : 0]));
  else if (value.type === F32) into.f32(value.value);
  else into.u32(value.value);
}

/** The file. */
export async function ggufFile(
  tensors: ReadonlyMap<string, Tensor>,
): Promise<Uint8Array<ArrayBuffer>> {
  const known = facts();
  const file = new Bytes();
  file.put(encoder.encode("GGUF"));
  file.u32(3);
  file.u64(tensors.size);
  file.u64(known.length);
  for (const [key, value] of known) {
    file.text(key);
    put(file, value);
  }
  let offset = 0;
  for (const { name, rows, columns, values } of tensors.values()) {
    file.text(name);
    // The dimension that lies together comes first.
    const dimensions = rows === 1 ? [columns] : [columns, rows];
    file.u32(dimensions.length);
    dimensions.forEach((one) => file.u64(one));
    file.u32(0); // F32
    file.u64(offset);
    offset += Math.ceil(values.byteLength / ALIGNMENT) * ALIGNMENT;
  }
  file.align();
  for (const { values } of tensors.values()) {
    file.put(new Uint8Array(values.buffer));
    file.align();
  }
  return await file.whole();
}
