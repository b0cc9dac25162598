# A NixOS module for a host that adopts. `services.anvil-adopter.settings` becomes adopter.toml.
#
#   imports = [ ./adopter.nix ];
#   services.anvil-adopter = {
#     enable = true;
#     package = anvil;                # provides bin/anvil-adopter
#     timers = false;                 # by hand until you trust it
#     settings = { schema = 1; host = "worker"; backend = "nixos"; ... };
#   };
{ config, lib, pkgs, ... }:
let
  cfg = config.services.anvil-adopter;
  toml = (pkgs.formats.toml { }).generate "adopter.toml" cfg.settings;
  common = {
    # A switch that restarts the adopter would kill the one who watches it.
    restartIfChanged = false;
    stopIfChanged = false;
    unitConfig.X-StopOnRemoval = false;
    path = [ pkgs.coreutils pkgs.iproute2 pkgs.util-linux config.nix.package config.systemd.package ];
    serviceConfig = {
      Type = "oneshot";
      StateDirectory = "anvil/adopter";
      StateDirectoryMode = "0700";
      RuntimeDirectory = "anvil";
      RuntimeDirectoryPreserve = "yes";
      UMask = "0022";
    };
  };
  timer = calendar: delay: {
    wantedBy = lib.optional cfg.timers "timers.target";
    timerConfig = { OnCalendar = calendar; RandomizedDelaySec = delay; Persistent = true; };
  };
in
{
  options.services.anvil-adopter = {
    enable = lib.mkEnableOption "adoption of signed candidates";
    package = lib.mkOption { type = lib.types.package; };
    timers = lib.mkOption {
      type = lib.types.bool;
      default = false;
      description = "Whether the clock looks and adopts; settings.policy decides what it may.";
    };
    settings = lib.mkOption { type = (pkgs.formats.toml { }).type; default = { }; };
  };

  config = lib.mkIf cfg.enable {
    environment.etc."anvil/adopter.toml".source = toml;
    environment.systemPackages = [ cfg.package ];
    systemd.tmpfiles.rules = [ "d /var/lib/anvil/failures 0755 root root -" ];
    systemd.services.anvil-adopter-stage = lib.recursiveUpdate common {
      description = "Anvil adopter: offer and stage this host's candidate";
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      serviceConfig = {
        ExecStart = [
          "${cfg.package}/bin/anvil-adopter offer --timer"
          "${cfg.package}/bin/anvil-adopter stage --timer"
        ];
        Nice = 19;
        IOSchedulingClass = "idle";
        TimeoutStartSec = "2h";
      };
    };
    systemd.services.anvil-adopter-activate = lib.recursiveUpdate common {
      description = "Anvil adopter: gate, switch, probe, prove or go back";
      # At boot: what a boot brought is probed, and an unfinished attempt is finished.
      wantedBy = [ "multi-user.target" ];
      after = [ "multi-user.target" ];
      serviceConfig = {
        ExecStart = "${cfg.package}/bin/anvil-adopter adopt --timer";
        TimeoutStartSec = "4h";
        KillMode = "mixed";
      };
    };
    systemd.timers.anvil-adopter-stage = timer "hourly" "15min";
    systemd.timers.anvil-adopter-activate = timer "*:0/15" "5min";
  };
}
