/**
 * A shape as JSON Schema, for editors: what may be written, not what it becomes.
 *
 * @module
 */

import { z } from "zod";

/** The JSON Schema of `shape`, as text. */
export function schemaTextOf(shape: z.ZodType): string {
  const schema = z.toJSONSchema(shape, { io: "input", target: "draft-2020-12" });
  return `${JSON.stringify(schema, null, 2)}\n`;
}
