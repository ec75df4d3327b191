import { CONFIG_KEYS, type ConfigKey } from './config-keys.ts';
import { variableOf } from './config-values.ts';

export function helpText(): string {
  const keys: readonly ConfigKey[] = CONFIG_KEYS;
  const flags = keys
    .filter((key) => key.flag !== undefined)
    .map((key) => {
      const usual = Array.isArray(key.default) ? key.default : [key.default];
      const fallback = key.default === undefined ? '' : ` [${usual.join()}]`;
      return `  ${(key.flag ?? '').padEnd(20)} ${key.description}${fallback}\n${' '.repeat(23)}${variableOf(key.path)}`;
    });
  return `Usage: berth server [flags]
       berth server COMMAND [flags]

Runs the control plane. Settings come from berth.yaml (or --config FILE), then BERTH_* variables, then flags;
every setting is listed in docs/reference/configuration.md.

Flags:
  --config             Configuration file [berth.yaml, if there is one]
${flags.join('\n')}

Commands (berth server COMMAND --help):
  backup               Write an encrypted backup of everything, beside a control plane that runs
  verify               Restore a backup into a temporary store and compare
  restore              Put a backup into an empty data folder, or an empty prefix of etcd
  migrate              Copy the store from SQLite to etcd, or back, and prove that nothing differs
  logs                 Print its log, over the API, from anywhere (berth server logs --help)
  rescue               Make a platform administrator's token on this machine, when none is left
  health               Ask the control plane on this machine whether it is ready

On first start the platform's tenant and one administrator token are made: from BERTH_BOOTSTRAP_TOKEN when set
(32 characters or more), else written to <data-dir>/admin-token, readable by its owner only.

Exit status: 0 stopped by a signal, 1 failed, 2 the configuration cannot be used.
`;
}
