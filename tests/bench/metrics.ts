/**
 * The numbers of the report and how each is shown.
 *
 * @module
 */

import type { Scenario } from "./scenarios.ts";

/** One column. */
export interface Metric {
  readonly scenario: Scenario;
  /** Name in {@link Seen.numbers}. */
  readonly name: string;
  /** Heading, unit included. */
  readonly label: string;
  /** What one shown unit is of the stored one. */
  readonly scale: number;
  readonly decimals: number;
}

const MICROS = 1;
const MEGABYTE = 1e6;
const KILOBYTE = 1e3;

function metric(
  scenario: Scenario,
  name: string,
  label: string,
  scale = MICROS,
  decimals = 0,
): Metric {
  return { scenario, name, label, scale, decimals };
}

const json = (connections: number): Metric[] => {
  const name = `json${connections}`;
  const at = `${connections} conn`;
  return [
    metric("json", `${name}.rate`, `${at}: requests/s`),
    metric("json", `${name}.p50`, `${at}: p50 us`),
    metric("json", `${name}.p99`, `${at}: p99 us`),
    metric("json", `${name}.cpu`, `${at}: CPU us/request`, MICROS, 1),
    metric("json", `${name}.relay_busy`, `${at}: relay's core %`, 0.01),
    metric("json", `${name}.load_busy`, `${at}: load's core %`, 0.01),
    metric("json", `${name}.others_busy`, `${at}: other programs %`, 0.01),
  ];
};

const growth = (streams: number): Metric[] => [
  metric("growth", `growth${streams}.cpu`, `${streams}: CPU us/event`, MICROS, 1),
  metric("growth", `growth${streams}.p50`, `${streams}: p50 us`),
  metric("growth", `growth${streams}.p99`, `${streams}: p99 us`),
  metric("growth", `growth${streams}.rss`, `${streams}: RSS MB`, MEGABYTE),
];

/** All of them, in the order of the columns. */
export const METRICS: readonly Metric[] = [
  ...json(1),
  ...json(32),
  ...json(64),
  metric("sse", "sse.p50", "one-way p50 us"),
  metric("sse", "sse.p99", "one-way p99 us"),
  metric("sse", "sse.max", "one-way max us"),
  metric("sse", "sse.cpu", "CPU us/event", MICROS, 1),
  metric("sse", "sse.rss", "RSS MB", MEGABYTE),
  metric("sse", "sse.rss_per_stream", "RSS KB/stream", KILOBYTE),
  metric("sse", "sse.rate", "events/s"),
  metric("sse", "sse.relay_busy", "relay's core %", 0.01),
  metric("sse", "sse.load_busy", "load's core %", 0.01),
  metric("sse", "sse.others_busy", "other programs %", 0.01),
  metric("sse", "sse.lateness", "latest event left late by us"),
  metric("cancel", "cancel.p50", "p50 ms", 1000, 2),
  metric("cancel", "cancel.p99", "p99 ms", 1000, 2),
  metric("cancel", "cancel.max", "max ms", 1000, 2),
  metric("cancel", "cancel.unseen", "not seen within 2 s"),
  metric("cancel", "cancel.aborts", "aborts"),
  metric("rss", "idle.rss", "idle RSS MB", MEGABYTE, 1),
  ...growth(10),
  ...growth(100),
  ...growth(500),
  ...growth(1000),
  metric("growth", "growth1000.rss_per_stream", "1000: RSS KB/stream", KILOBYTE),
  metric("uploads", "uploads.peak", "peak RSS MB", MEGABYTE),
  metric("uploads", "uploads.growth", "above idle MB", MEGABYTE),
  metric("uploads", "uploads.cpu", "CPU ms/upload", 1000, 1),
  metric("uploads", "uploads.rate", "MB/s", MEGABYTE),
];

/** A value as its column shows it. */
export function show({ scale, decimals }: Metric, value: number): string {
  return (value / scale).toFixed(decimals);
}
