/**
 * The changes that are tried on a host of `change_texts.ts`, as an operator asks for them.
 *
 * @module
 */

import type { ChangeEnd, Conductor } from "../../lib/serves/machines/conductor.ts";
import { planEnter, planLeave } from "../../lib/serves/machines/mode.ts";
import { planPromotion } from "../../lib/serves/machines/promotion.ts";
import { type SurveyPorts, takeSurvey } from "../../lib/serves/machines/survey.ts";
import { measured } from "./change_evidence.ts";
import { type ChangePorts, routerText } from "./change_texts.ts";

/** What is asked for; `demote` is the promotion of what was there before. */
export type What = "enter" | "leave" | "promote" | "demote";

/** Asks for one and waits for its end. */
export async function beginChange(
  { conductor, survey }: { readonly conductor: Conductor; readonly survey: SurveyPorts },
  what: What,
  ports: ChangePorts,
): Promise<ChangeEnd> {
  const config = what === "promote"
    ? routerText(ports, "next")
    : what === "demote"
    ? routerText(ports, "chat")
    : null;
  return await conductor.begin(
    {
      plan: async (signal) => {
        const seen = await takeSurvey(survey, signal);
        if (seen.kind === "refused") return seen;
        const drainSeconds = 10;
        if (config !== null) {
          const name = what === "promote" ? "chat-next" : "chat";
          const serve = survey.facts.serves.find((one) => one.name === name);
          if (serve === undefined) throw new Error(`no serve ${name}`);
          const evidence = await measured(survey.facts.node, serve);
          const wish = { alias: "llm.primary", config, evidence, drainSeconds };
          return await planPromotion(seen, wish, survey, signal);
        }
        return what === "enter"
          ? await planEnter(seen, { mode: "studio", drainSeconds }, survey, signal)
          : await planLeave(
            seen,
            { mode: "studio", drainSeconds, displaced: ["chat"] },
            survey,
            signal,
          );
      },
      expected: null,
      serves: survey.facts.serves,
      config,
      run: null,
    },
    () => {},
    new AbortController().signal,
  );
}
