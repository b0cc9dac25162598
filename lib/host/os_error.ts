/**
 * What the operating system said, as two words for a program and one line for a log.
 *
 * @module
 */

/** The errno name such as `ENOSPC`; the error's own name where there is none. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : error.name;
}

/** One line for the log. May hold a path. */
export function causeOf(error: unknown): string {
  return error instanceof Error ? `${codeOf(error)}: ${error.message}` : String(error);
}

/** True when something with that name is not there. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound;
}

/** True when the disk or a quota is full. */
export function isNoSpace(error: unknown): boolean {
  const code = codeOf(error);
  return code === "ENOSPC" || code === "EDQUOT";
}
