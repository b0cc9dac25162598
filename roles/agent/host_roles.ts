/**
 * Which roles of a host make it one with a router, or one that serves models.
 *
 * @module
 */

import type { ResourceRole } from "../../lib/topology/vocabulary.ts";

/** Roles of a host with a router. */
export const WITH_ROUTER = [
  "router",
  "gateway",
  "proxy",
  "serving",
  "voice",
] as const satisfies readonly ResourceRole[];

/** Roles of a host that runs models. */
export const SERVING_HOSTS = ["serving", "voice"] as const satisfies readonly ResourceRole[];

/** Roles of a host whose serves and router are changed: modes and promotions. */
export const CHANGE_HOSTS = [
  "serving",
  "router",
  "voice",
] as const satisfies readonly ResourceRole[];

/** Roles of a host whose models are measured. */
export const BENCHMARK_HOSTS = [
  "serving",
  "voice",
  "evaluation",
  "qualification",
] as const satisfies readonly ResourceRole[];
