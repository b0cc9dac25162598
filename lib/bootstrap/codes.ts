/**
 * The fixed words of bootstrap: codes, phases, verbs. Nothing else is ever said over the wire, so no
 * endpoint, path, token or command can be.
 *
 * @module
 */

/** Why something was refused or failed. One set for both ends. */
export const CODES = [
  "invalid_contract", // a frame, verb, key or length that the contract does not have
  "deadline_exceeded", // the other end was too slow
  "wrong_node", // another host than the expected one
  "receiver_mismatch", // another receiver, or another target configuration, than planned
  "topology_drift", // the topology changed since the plan
  "digest_mismatch", // another bundle than planned
  "precondition_failed", // something that must be provisioned first is not there
  "unsupported_platform", // no adapter for this host in this version
  "not_authorized", // the host's own configuration does not allow it
  "config_unsafe", // the target configuration is a link, shared, or not the owner's alone
  "receiver_busy", // another connection changes this host right now
  "operation_unknown", // no such operation here, or not in a phase for that
  "operation_conflict", // the id was used for something else
  "bundle_refused", // the archive is not what its manifest says
  "storage_failed", // the disk said no
  "no_space", // the disk or a quota is full
  "no_atomic_replace", // the file system of the store cannot replace a name at once
  "activation_failed", // the pointer could not be moved
  "restart_failed", // the supervisor said no, or the unit does not run
  "restart_unknown", // the supervisor did not answer in time
  "generation_not_whole", // a generation that should become current is gone or damaged
  "no_prior_generation", // nothing to go back to
  "ownership_uncertain", // somebody else moved the pointer meanwhile
  "journal_damaged",
  "manual_recovery", // a person has to look first
  "cleanup_failed", // what was unfinished could not be removed; changes no verdict
  "agent_available", // the agent answers: it installs, not the receiver
  "transport_failed", // the receiver could not be reached, or went away
  "may_have_executed", // it went away after a request that changes something: done, or not
  "auth_rejected",
  "acceptance_failed", // the new agent is another node, version, build, protocol or catalogue
] as const;

/** One of {@link CODES}. */
export type BootstrapCode = (typeof CODES)[number];

/** Where an operation stands, in the order they are passed. */
export const PHASES = [
  "planned",
  "staged",
  "verified",
  "installed",
  "activated",
  "restarted",
  "accepted",
  "rollback_started",
  "rolled_back",
  "manual_recovery",
  "refused",
  "cleanup_failed",
] as const;

/** One of {@link PHASES}. */
export type Phase = (typeof PHASES)[number];

/** The five verbs. There is no sixth. */
export const VERBS = ["identity", "stage", "activate", "status", "rollback"] as const;

/** One of {@link VERBS}. */
export type Verb = (typeof VERBS)[number];

/** Version of frames, requests and answers. */
export const PROTOCOL = 1;
