/** Our own client over real sockets. Here, as lib/host may not import lib/relay's values. */

import { systemClock } from "../host/clock.ts";
import { tcpDial } from "../host/dial.ts";
import { http1Upstream } from "../relay/http1.ts";
import { upstreamConformance } from "./upstream_conformance.ts";

upstreamConformance("http1", () => http1Upstream(tcpDial, systemClock));
