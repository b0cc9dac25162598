/**
 * Where a file stands: its area, its room, and what kind of file it is there.
 *
 * @module
 */

/** A file's place in the tree. `room` is null outside lib/ and roles/. */
export interface Place {
  /** From the root of the tree, with `/`. */
  readonly path: string;
  readonly area: "lib" | "roles" | "tests" | "scripts" | "elsewhere";
  readonly room: string | null;
  /** Named `*_test.ts`, or under tests/. */
  readonly isTest: boolean;
  /** `roles/<role>/main.ts`. */
  readonly isMain: boolean;
}

const ROOT = pathOf(new URL("../../", import.meta.url).href);

/** The place of an absolute path, a `file:` URL, or a path from the root of the tree. */
export function placeOf(file: string): Place {
  const whole = pathOf(file);
  const path = whole.toLowerCase().startsWith(ROOT.toLowerCase())
    ? whole.slice(ROOT.length)
    : whole;
  const [area = "", room = "", ...rest] = path.split("/");
  const isTest = area === "tests" || /_test\.tsx?$/.test(path);
  if (area === "lib" || area === "roles") {
    return {
      path,
      area,
      room: rest.length === 0 ? null : room, // a file directly in lib/ or roles/ has no room
      isTest,
      isMain: area === "roles" && rest.length === 1 && rest[0] === "main.ts",
    };
  }
  const known = area === "tests" || area === "scripts" ? area : "elsewhere";
  return { path, area: known, room: null, isTest, isMain: false };
}

/** The place a relative specifier in `from` points to. */
export function target(from: Place, specifier: string): Place {
  const base = from.path.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") base.pop();
    else if (part !== ".") base.push(part);
  }
  return placeOf(base.join("/"));
}

/** Backslashes, drive letters and URL escapes off: `/`-separated, comparable. */
function pathOf(file: string): string {
  const path = file.startsWith("file:") ? decodeURIComponent(new URL(file).pathname) : file;
  return path.replaceAll("\\", "/").replace(/^\/(?=[A-Za-z]:\/)/, "");
}
