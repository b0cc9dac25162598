/**
 * The keys a schema knows at a place in a document.
 *
 * @module
 */

import type { z } from "zod";

/** Keys of the table at `path`; none where the schema is no table with fixed keys. */
export function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const [key, ...rest] = path;
  switch (def.type) {
    case "optional":
    case "default":
    case "prefault":
      return keysAt(def.innerType, path);
    case "array":
      return key === undefined ? [] : keysAt(def.element, rest);
    case "record":
      return key === undefined ? [] : keysAt(def.valueType, rest);
    case "union": // of any of its shapes
      return [...new Set(def.options.flatMap((option) => keysAt(option, path)))];
    case "object": {
      if (key === undefined) return Object.keys(def.shape);
      const inner = Object.hasOwn(def.shape, key) ? def.shape[String(key)] : undefined;
      return inner === undefined ? [] : keysAt(inner, rest);
    }
    default:
      return [];
  }
}
