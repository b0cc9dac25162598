/**
 * The room rules as a lint plugin: `rooms/imports`, `rooms/pure`, `rooms/world`. The table they read
 * is `rooms.ts`.
 *
 * @module
 */

import { type Place, placeOf, target } from "./place.ts";
import { PURE_BANNED, PURE_MEMBERS, ROLES, type Room, ROOMS, TEST_PACKAGES } from "./rooms.ts";

const TABLE = "tests/rooms/rooms.ts";

/** The row of a place; null outside lib/ and roles/, or when the table does not know it. */
function rowOf(place: Place): Room | null {
  if (place.room === null) return null;
  const rows = place.area === "lib" ? ROOMS : ROLES;
  return Object.hasOwn(rows, place.room) ? rows[place.room] ?? null : null;
}

/** Why `from` may not import `specifier`, or null when it may. */
function whyNot(from: Place, specifier: string, typesOnly: boolean): string | null {
  const inRoom = from.area === "lib" || from.area === "roles";
  if (/^\.\.?\//.test(specifier)) {
    const to = target(from, specifier);
    if (to.area === "lib" && to.room === "testing") {
      return from.isTest || (from.area === "lib" && from.room === "testing")
        ? null
        : "lib/testing is for tests only";
    }
    return inRoom ? relativeWhyNot(from, to, typesOnly) : null;
  }
  if (!inRoom) return null;
  const row = rowOf(from);
  if (row === null) return null; // said once per file, below
  if (specifier.startsWith("node:")) {
    if (from.isTest || from.area === "roles" || row.reach === "world") return null;
    return `lib/${from.room} may not import ${specifier}: only lib/host touches node:*`;
  }
  if (/^[a-z]+:/i.test(specifier)) {
    return `import ${specifier} by its bare name, pinned in deno.json`;
  }
  const name = packageName(specifier);
  if (row.packages.includes(name)) return null;
  if (from.isTest && TEST_PACKAGES.includes(name)) return null;
  return `${from.area}/${from.room} may not import the package ${name}`;
}

function relativeWhyNot(from: Place, to: Place, typesOnly: boolean): string | null {
  const here = `${from.area}/${from.room}`;
  if (to.area === from.area && to.room === from.room) {
    return !to.isTest || from.isTest ? null : "only a test imports a test file";
  }
  if (to.area === "roles") {
    return from.area === "roles"
      ? "a role never imports another role"
      : `${here} may not import ${to.path}: lib never imports roles`;
  }
  if (to.area !== "lib") {
    const forTests = from.isTest || from.room === "testing";
    return to.area === "tests" && forTests ? null : `${here} may not import ${to.path}`;
  }
  const row = rowOf(from);
  if (row === null || to.room === null) return row === null ? null : "a file in lib/ has no room";
  if (row.imports.includes(to.room)) return null;
  if (row.types.includes(to.room)) {
    return typesOnly ? null : `${here} may import only types of lib/${to.room}: use import type`;
  }
  return `${here} may not import lib/${to.room}: imports point down`;
}

/** `@scope/name` or `name` of a bare specifier with or without a path. */
function packageName(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

const imports: Deno.lint.Rule = {
  create(context) {
    const from = placeOf(context.filename);
    const judge = (node: Deno.lint.Node, specifier: string, typesOnly: boolean) => {
      const message = whyNot(from, specifier, typesOnly);
      if (message !== null) context.report({ node, message, hint: `The room table is ${TABLE}.` });
    };
    return {
      Program(node) {
        if ((from.area === "lib" || from.area === "roles") && rowOf(from) === null) {
          context.report({ node, message: `${from.path} stands in no room of ${TABLE}` });
        }
      },
      ImportDeclaration(node) {
        const typesOnly = node.importKind === "type" || node.specifiers.length > 0 &&
            node.specifiers.every((one) =>
              one.type === "ImportSpecifier" && one.importKind === "type"
            );
        judge(node, node.source.value, typesOnly);
      },
      ExportNamedDeclaration(node) {
        if (node.source !== null) judge(node, node.source.value, node.exportKind === "type");
      },
      ExportAllDeclaration(node) {
        judge(node, node.source.value, node.exportKind === "type");
      },
      ImportExpression(node) {
        if (node.source.type === "Literal" && typeof node.source.value === "string") {
          judge(node, node.source.value, false);
        } else if (rowOf(from) !== null && !from.isTest) {
          context.report({ node, message: "an import of a computed name cannot be checked" });
        }
      },
      TSImportType(node) {
        const named = /import\(\s*["']([^"']+)["']/.exec(context.sourceCode.getText(node));
        if (named?.[1] !== undefined) judge(node, named[1], true);
      },
    };
  },
};

/** Reports a node once, though a shorthand property shows its name twice. */
function once(context: Deno.lint.RuleContext): (node: Deno.lint.Node, message: string) => void {
  const seen = new Set<number>();
  return (node, message) => {
    if (seen.has(node.range[0])) return;
    seen.add(node.range[0]);
    context.report({ node, message });
  };
}

const pure: Deno.lint.Rule = {
  create(context) {
    const place = placeOf(context.filename);
    const row = rowOf(place);
    if (row === null || row.reach !== "pure" || place.isTest) return {};
    const report = once(context);
    const here = `${place.area}/${place.room}`;
    return {
      Identifier(node) {
        if (isOnlyAName(node)) return;
        if (PURE_BANNED.includes(node.name)) {
          report(node, `${here} is pure: no ${node.name}; take it as an argument or a port`);
        } else if (Object.hasOwn(PURE_MEMBERS, node.name)) {
          const member = memberWhyNot(node);
          if (member !== null) {
            report(node, `${here} is pure: no ${member}; take it as an argument`);
          }
        }
      },
    };
  },
};

/** For Date, Math, crypto and the like: what of it is used that may not be, or null. */
function memberWhyNot(node: Deno.lint.Identifier): string | null {
  const { parent } = node;
  const members = PURE_MEMBERS[node.name];
  if (members === undefined) return null;
  if (parent.type === "MemberExpression" && same(parent.object, node)) {
    const name = memberName(parent);
    if (name === null) return `${node.name}[computed]`;
    const allowed = (members.rule === "only") === members.names.includes(name);
    return allowed ? null : `${node.name}.${name}`;
  }
  if (parent.type === "BinaryExpression" && parent.operator === "instanceof") return null;
  if (node.name === "Date" && parent.type === "NewExpression" && same(parent.callee, node)) {
    const first = parent.arguments[0];
    return first === undefined || first.type === "SpreadElement" ? "new Date() of now" : null;
  }
  return `${node.name} under another name`;
}

/** Deno, and fetch, outside the rooms that touch the world; Deno.exit outside roles' main.ts. */
const world: Deno.lint.Rule = {
  create(context) {
    const place = placeOf(context.filename);
    const row = rowOf(place);
    if (row === null) return {};
    const report = once(context);
    const mayExit = place.isMain || place.room === "testing"; // children that tests start
    const touches = place.isMain || place.isTest || row.reach === "world";
    return {
      Identifier(node) {
        if (isOnlyAName(node)) return;
        const { parent } = node;
        const member = parent.type === "MemberExpression" && same(parent.object, node)
          ? memberName(parent)
          : null;
        const isDeno = node.name === "Deno" || (node.name === "globalThis" && member === "Deno");
        if (isDeno && !touches) {
          report(node, "only lib/host and roles' main.ts touch Deno: use a port");
        } else if (node.name === "globalThis" && !touches && isComputed(parent, node)) {
          report(node, "globalThis[computed] cannot be checked");
        } else if (node.name === "fetch" && !touches && place.area === "lib") {
          report(node, "only lib/host touches fetch: use a port");
        } else if (exits(node, member) && !mayExit) {
          report(node, "only roles' main.ts exits: return an outcome");
        }
      },
    };
  },
};

function exits(node: Deno.lint.Identifier, member: string | null): boolean {
  return (node.name === "Deno" || node.name === "process") && member === "exit";
}

function isComputed(parent: Deno.lint.Node, node: Deno.lint.Node): boolean {
  return parent.type === "MemberExpression" && same(parent.object, node) &&
    memberName(parent) === null;
}

/** The name after the dot, or in a literal bracket; null when it is computed. */
function memberName(node: Deno.lint.MemberExpression): string | null {
  const { property } = node;
  if (!node.computed) return property.type === "Identifier" ? property.name : null;
  return property.type === "Literal" && typeof property.value === "string" ? property.value : null;
}

/** True where an identifier names a key, a label or a type, not a value. */
function isOnlyAName(node: Deno.lint.Identifier): boolean {
  const { parent } = node;
  switch (parent.type) {
    case "MemberExpression":
      return !parent.computed && same(parent.property, node);
    case "Property":
      return !parent.computed && !parent.shorthand && same(parent.key, node);
    case "PropertyDefinition":
    case "MethodDefinition":
      return !parent.computed && same(parent.key, node);
    case "ImportSpecifier":
      return same(parent.imported, node) && !same(parent.local, node);
    case "ExportSpecifier":
      return same(parent.exported, node) && !same(parent.local, node);
    default:
      return parent.type.startsWith("TS") && !VALUES_IN_TS.has(parent.type);
  }
}

/** TypeScript's wrappers around values; every other TS node around an identifier is a type. */
const VALUES_IN_TS: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "TSTypeAssertion",
  "TSInstantiationExpression",
  "TSExportAssignment",
  "TSParameterProperty",
]);

function same(a: Deno.lint.Node, b: Deno.lint.Node): boolean {
  return a.range[0] === b.range[0] && a.range[1] === b.range[1];
}

const plugin: Deno.lint.Plugin = { name: "rooms", rules: { imports, pure, world } };
export default plugin;
