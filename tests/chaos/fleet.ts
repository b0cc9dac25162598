/**
 * The fleet a walk goes through: names, models and ports, the same on every host.
 *
 * @module
 */

/** Ports of a host; its namespace is its own. */
export const PORTS = {
  data: 8080,
  admin: 8081,
  agent: 8765,
  chat: 8001,
  next: 8002,
  embed: 8003,
  studio: 8004,
  publisher: 8734,
} as const;

/**
 * The unit of a program on a host. Hosts of one machine see each other's processes: the host is in
 * the name, so that none is taken for another's.
 */
export function unitOf(host: string, program: string): string {
  return `anvil-${host}-${program}.service`;
}

/** What each engine serves. `chat` and `next` take turns behind one alias; `studio` is a mode. */
export const MODELS = {
  chat: "org/model",
  next: "org/model-next",
  embed: "org/embed",
  studio: "org/video",
} as const;

/** An engine. */
export type Engine = keyof typeof MODELS;

/** Whom nobody asked for. */
export const IMPOSTOR = "org/impostor";

/** What clients ask for. */
export const ALIASES = {
  "llm.primary": "primary",
  "llm.embed": "embed",
  "video.make": "video",
} as const;
