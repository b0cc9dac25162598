/**
 * `PROGRAM schema`: a JSON Schema on standard output, for editors.
 *
 * @module
 */

import { buildCommand } from "@stricli/core";
import type { ProgramContext } from "./program.ts";

/** What there are schemas of; the first is the one without `--of`. */
export interface SchemaFiles<Name extends string> {
  /** As `anvil-router`. */
  readonly program: string;
  readonly names: readonly [Name, ...Name[]];
  /** What `--of` names, as `Which file: router.toml or clients.toml`. */
  readonly which: string;
  readonly brief: string;
  /** The schema of one of them, as text. */
  readonly text: (of: Name) => string;
}

/** The command. */
export function schemaCommandOf<Name extends string>(
  { program, names, which, brief, text }: SchemaFiles<Name>,
) {
  const [first] = names;
  return buildCommand<{ readonly of: string }, [], ProgramContext>({
    parameters: {
      flags: {
        of: {
          kind: "parsed",
          parse: (word): string => named(word, names),
          proposeCompletions: (partial) => names.filter((name) => name.startsWith(partial)),
          default: first,
          brief: which,
          placeholder: names.join("|"),
        },
      },
    },
    docs: {
      brief,
      fullDescription: "Editors that know TOML use it to complete and check the file.\n\n" +
        `Example:\n  ${program} schema > ${first}.schema.json`,
    },
    func({ of }) {
      this.terminal.out(text(named(of, names)));
    },
  });
}

function named<Name extends string>(word: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === word);
  if (found === undefined) throw new SyntaxError(`expected one of ${names.join(", ")}`);
  return found;
}
