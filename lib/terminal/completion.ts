/**
 * Completion in a person's shell: a script that asks the program itself, so that it never goes stale.
 *
 *     TAB ── script ── `PROGRAM __complete WORD...` ── one proposal a line
 *
 * @module
 */

import { type Application, buildCommand, proposeCompletions } from "@stricli/core";
import type { Terminal } from "../core/terminal.ts";
import type { ProgramContext } from "./program.ts";

/** The word by which scripts ask; in no help. */
export const COMPLETE = "__complete";

/** Shells there are scripts for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** One of {@link SHELLS}. */
export type Shell = (typeof SHELLS)[number];

/** What may stand in place of the last of `words`. Nothing where there is nothing to say. */
export async function proposals(
  app: Application<ProgramContext>,
  words: readonly string[],
  terminal: Terminal,
): Promise<readonly string[]> {
  const sink = { write: () => {} };
  const context: ProgramContext = {
    process: { stdout: sink, stderr: sink },
    terminal,
    exit: () => {},
  };
  const partial = words.length === 0 ? [""] : words;
  const found = await proposeCompletions(app, partial, context);
  return found.map(({ completion }) => completion).filter((one) => !/[\s\\]/.test(one));
}

const SCRIPTS: Readonly<Record<Shell, (program: string, name: string) => string>> = {
  bash: (program, name) =>
    `_${name}() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(${program} __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _${name} ${program}
`,
  zsh: (program, name) =>
    `#compdef ${program}
_${name}() {
  local -a found
  found=("\${(@f)$(${program} __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=(\${found:#})
  if (( \${#found} )); then compadd -- "\${found[@]}"; else _files; fi
}
if [ "$funcstack[1]" = "_${name}" ]; then _${name} "$@"; else compdef _${name} ${program}; fi
`,
  fish: (program, name) =>
    `function __${name}
    set -l words (commandline -opc) (commandline -ct)
    ${program} __complete $words[2..-1] 2>/dev/null
end
complete -c ${program} -a '(__${name})'
`,
};

/** The script that a shell reads to complete `program`. */
export function completionScript(shell: Shell, program: string): string {
  return SCRIPTS[shell](program, program.replaceAll(/[^A-Za-z0-9]/g, "_"));
}

/** `PROGRAM completions SHELL`. */
export function completionsCommand(program: string) {
  return buildCommand<Record<never, never>, [Shell], ProgramContext>({
    parameters: {
      positional: {
        kind: "tuple",
        parameters: [{
          brief: "bash, zsh or fish",
          placeholder: "SHELL",
          parse: shellOf,
          proposeCompletions: () => [...SHELLS],
        }],
      },
    },
    docs: {
      brief: "Print the completion script of a shell",
      fullDescription: "Examples:\n" +
        `  source <(${program} completions bash)\n` +
        `  ${program} completions fish > ~/.config/fish/completions/${program}.fish`,
    },
    func(_, shell) {
      this.terminal.out(completionScript(shell, program));
    },
  });
}

function shellOf(text: string): Shell {
  const shell = SHELLS.find((one) => one === text);
  if (shell === undefined) throw new SyntaxError(`expected ${SHELLS.join(", ")}`);
  return shell;
}
