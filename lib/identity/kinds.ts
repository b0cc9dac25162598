/**
 * How each kind of engine is asked which model it serves now, and how its answer is read.
 *
 * @module
 */

/** The kinds a tier may declare. */
export const IDENTITY_KINDS = [
  "openai-models",
  "llama-server",
  "mlx-vlm",
  "vllm-mlx",
  "ollama",
  "lmstudio",
  "sglang",
] as const;

/** One of {@link IDENTITY_KINDS}. */
export type IdentityKind = (typeof IDENTITY_KINDS)[number];

/** One model an engine says it serves now: the names it goes by there, the best known first. */
export type Spellings = readonly string[];

/** What a probe answer says: the models loaded now, or that it cannot be read. */
type Observation =
  | { readonly kind: "observed"; readonly models: readonly Spellings[] }
  | { readonly kind: "unparseable"; readonly detail: string };

/** How one kind is probed. */
interface KindRow {
  /** Path of the GET request. */
  readonly path: string;
  /** Reads the parsed JSON body of a 200 answer. */
  readonly read: (body: unknown) => Observation;
  /**
   * `only`: the pinned model must be the one model observed. `among`: an engine that loads several
   * and is told which by every request; the pinned one must be among those loaded.
   */
  readonly match: "only" | "among";
}

const KINDS: { readonly [kind in IdentityKind]: KindRow } = {
  "openai-models": {
    path: "/v1/models",
    match: "only",
    read: (body) => each(body, "data", (item) => named(member(item, "id"))),
  },
  // llama.cpp: the alias when one was given, else the file it loaded.
  "llama-server": {
    path: "/props",
    match: "only",
    read: (body) => {
      const path = member(body, "model_path");
      const file = typeof path === "string" ? path.split(/[/\\]/).at(-1) : undefined;
      return one([member(body, "model_alias"), file, path], "model_path");
    },
  },
  "mlx-vlm": {
    path: "/health",
    match: "only",
    read: (body) => loaded(body, "loaded_model"),
  },
  "vllm-mlx": {
    path: "/health",
    match: "only",
    read: (body) =>
      member(body, "model_loaded") === false
        ? { kind: "observed", models: [] }
        : loaded(body, "model_name"),
  },
  "ollama": {
    path: "/api/ps",
    match: "among",
    read: (body) =>
      each(body, "models", (item) => named(member(item, "model"), member(item, "name"))),
  },
  "lmstudio": {
    path: "/api/v0/models",
    match: "among",
    read: (body) =>
      each(
        body,
        "data",
        (item) => member(item, "state") === "loaded" ? named(member(item, "id")) : "not loaded",
      ),
  },
  "sglang": {
    path: "/get_model_info",
    match: "only",
    read: (body) =>
      one([member(body, "served_model_name"), member(body, "model_path")], "model_path"),
  },
};

/** Where a kind is asked. */
export function probePath(kind: IdentityKind): string {
  return KINDS[kind].path;
}

/** Engines whose `/v1/models` lists what is installed, not what is loaded: it proves nothing there. */
const MODEL_LIST_LIES = ["mlxlm", "mlxvlm", "lmstudio", "ollama"];

/** True when `kind` proves nothing about `engine`; spelling is folded (`mlx-lm`, `LM Studio`). */
export function provesNothing(kind: IdentityKind, engine: string): boolean {
  const folded = engine.toLowerCase().replace(/[^a-z0-9]/g, "");
  return kind === "openai-models" && MODEL_LIST_LIES.some((name) => folded.startsWith(name));
}

/** What a probe answer means against the pin. */
export type Verdict =
  | { readonly kind: "match" }
  | { readonly kind: "mismatch"; readonly observed: readonly string[] }
  | { readonly kind: "unparseable"; readonly detail: string };

/** Judges the body of a 200 answer, already bounded in size, against the pinned model name. */
export function judge(kind: IdentityKind, pinned: string, text: string): Verdict {
  const { read, match } = KINDS[kind];
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { kind: "unparseable", detail: "the answer is not JSON" };
  }
  const observation = read(body);
  if (observation.kind === "unparseable") return observation;
  const { models } = observation;
  const pinnedOnes = models.filter((spellings) => spellings.includes(pinned)).length;
  const matches = match === "among" ? pinnedOnes > 0 : pinnedOnes === 1 && models.length === 1;
  return matches
    ? { kind: "match" }
    : { kind: "mismatch", observed: models.map((spellings) => spellings[0] ?? "") };
}

/** The texts among `values` that name something; null when none does. */
function named(...values: readonly unknown[]): Spellings | null {
  const names = values.filter((value): value is string =>
    typeof value === "string" && value !== ""
  );
  return names.length === 0 ? null : names;
}

/** Reads a list of models; an item without a usable name makes the whole answer unreadable. */
function each(
  body: unknown,
  list: string,
  read: (item: unknown) => Spellings | null | "not loaded",
): Observation {
  const items = member(body, list);
  if (!Array.isArray(items)) return { kind: "unparseable", detail: `there is no list \`${list}\`` };
  const models: Spellings[] = [];
  for (const item of items) {
    const model = read(item);
    if (model === null) {
      return { kind: "unparseable", detail: `an item of \`${list}\` has no name` };
    }
    if (model !== "not loaded") models.push(model);
  }
  return { kind: "observed", models };
}

/** Reads the one model of an engine that always has one. */
function one(values: readonly unknown[], wanted: string): Observation {
  const names = named(...values);
  return names === null
    ? { kind: "unparseable", detail: `there is no text \`${wanted}\`` }
    : { kind: "observed", models: [names] };
}

/** Reads the one model of an engine that says null when none is loaded. */
function loaded(body: unknown, key: string): Observation {
  return member(body, key) === null
    ? { kind: "observed", models: [] }
    : one([member(body, key)], key);
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as { readonly [name: string]: unknown })[key]
    : undefined;
}
