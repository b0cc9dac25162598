/**
 * Everything that is known of one host, on a page of its own.
 *
 * @module
 */

import type { CapabilityMatrix } from "../../../lib/dispatch/capability.ts";
import { skewText } from "../commands/node.ts";
import { Freshness } from "./adoption_row.tsx";
import { Ago, type Moment } from "./ago.tsx";
import { whyOf } from "./attention.ts";
import { Verdict } from "./capability_table.tsx";
import { EventItem } from "./event_item.tsx";
import type { FleetWatch } from "./fleet_watch.ts";
import { Numbers, State } from "./host_row.tsx";
import type { NodeStanding, NodeView } from "./node_view.ts";
import type { TierSeen } from "./router_seen.ts";
import { MarkList, Timeline } from "./timeline.tsx";

/** The sheet. */
export function HostSheet({ view, standing, moment, watch, matrix }: {
  readonly view: NodeView;
  readonly standing: NodeStanding;
  readonly moment: Moment;
  readonly watch: FleetWatch;
  readonly matrix: CapabilityMatrix;
}) {
  const { host, router, adoption, adoptionBefore, marks } = view;
  const trend = watch.trendOf(host);
  return (
    <div id="sheet">
      <section aria-labelledby="state-title">
        <h2 id="state-title">State</h2>
        <Facts view={view} standing={standing} moment={moment} />
        {whyOf(view) !== "" && <p class="why">{whyOf(view)}</p>}
        {typeof view.look?.nextStep === "string" && <p>Next: {view.look.nextStep}</p>}
      </section>
      <section aria-labelledby="router-title">
        <h2 id="router-title">Router</h2>
        <p>
          In flight: <Numbers view={view} trend={trend} of="inFlight" />; slowest p95:{" "}
          <Numbers view={view} trend={trend} of="latency" />
        </p>
        {router.kind === "told"
          ? <Tiers tiers={router.tiers} draining={router.draining} />
          : <p>{router.kind === "none" ? "It has no router." : `Unknown: ${router.code}`}</p>}
      </section>
      <section aria-labelledby="adoption-title">
        <h2 id="adoption-title">Adoption</h2>
        <p>
          <Freshness adoption={adoption} was={adoptionBefore?.freshness ?? null} />{" "}
          {adoption.kind === "known" && adoption.adoption.why}{" "}
          <Timeline marks={marks} moment={moment} />
        </p>
        <MarkList marks={marks} moment={moment} />
      </section>
      <section aria-labelledby="capability-title">
        <h2 id="capability-title">Capabilities</h2>
        <Capabilities host={host} matrix={matrix} />
      </section>
      <section aria-labelledby="host-events-title">
        <h2 id="host-events-title">What changed here</h2>
        <ol class="events">
          {watch.events.filter((one) => one.host === host).slice(-40).reverse()
            .map((event) => <EventItem event={event} />)}
        </ol>
      </section>
    </div>
  );
}

function Facts({ view, standing, moment }: {
  readonly view: NodeView;
  readonly standing: NodeStanding;
  readonly moment: Moment;
}) {
  const { look, sighting, skewMs, running, topology } = view;
  return (
    <dl>
      <dt>State</dt>
      <dd>
        <State view={view} standing={standing} />
      </dd>
      <dt>Asked</dt>
      <dd>
        <Ago at={look?.at} moment={moment} never="not yet" />
      </dd>
      <dt>Answered last</dt>
      <dd>
        <Ago at={sighting?.at} moment={moment} />
      </dd>
      <dt>Version then</dt>
      <dd>{sighting?.version ?? "unknown"}</dd>
      <dt>Build then</dt>
      <dd>
        {sighting === null ? "unknown" : sighting.build_digest?.slice(0, 12) ?? "from source"}
      </dd>
      <dt>Agent started</dt>
      <dd>
        <Ago at={sighting?.started_at} moment={moment} never="unknown" />
      </dd>
      <dt>Clock</dt>
      <dd>{skewMs === null ? "unknown" : skewText(skewMs)}</dd>
      <dt>Operations running</dt>
      <dd>{running ?? "unknown"}</dd>
      <dt>Topology</dt>
      <dd class={topology === "differs" ? "warn" : undefined}>{topology}</dd>
    </dl>
  );
}

function Tiers({ tiers, draining }: {
  readonly tiers: readonly TierSeen[];
  readonly draining: boolean;
}) {
  return (
    <div class="scroll" role="region" tabindex={0} aria-label="Tiers, scrollable">
      <table>
        <caption>Tiers of the router{draining ? ", which drains" : ""}</caption>
        <thead>
          <tr>
            {["Tier", "Wanted", "Readiness", "In flight", "Waiting", "p95", "Members"].map((
              one,
            ) => <th scope="col">{one}</th>)}
          </tr>
        </thead>
        <tbody>
          {tiers.map(({ tier, intent, ready, inFlight, waiting, p95Ms, members }) => (
            <tr>
              <th scope="row">{tier}</th>
              <td>{intent}</td>
              <td>
                <span class={`state ${ready ? "fresh" : "trouble"}`}>
                  <span aria-hidden="true">{ready ? "●" : "▲"}</span>{" "}
                  {ready ? "ready" : "not ready"}
                </span>
              </td>
              <td>{inFlight}</td>
              <td>{waiting}</td>
              <td>{p95Ms === null ? "none" : `${p95Ms} ms`}</td>
              <td>{members.map(({ id, state }) => `${id} ${state}`).join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Capabilities({ host, matrix }: {
  readonly host: string;
  readonly matrix: CapabilityMatrix;
}) {
  const own = matrix.rows.flatMap(({ capability, cells }) =>
    cells.filter((cell) => cell.host === host).map((cell) => ({ capability, cell }))
  ).slice(0, 64);
  if (own.length === 0) {
    const otherwise = matrix.hosts.find((one) => one.host === host);
    return <p>None of its own: {otherwise?.verdict ?? "unknown"} {otherwise?.why}</p>;
  }
  return (
    <ul>
      {own.map(({ capability, cell }) => (
        <li>
          {capability}: <Verdict of={cell.verdict} />
          {cell.promoted && " promoted here"}
          <ul>
            {cell.said.map(({ perspective, standing, code, why, model }) => (
              <li>
                {perspective}: {standing}, {code}
                {model === null ? "" : `, ${model}`}
                {why === "" ? "" : `: ${why}`}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
