import { CONFIG_KEYS, type ConfigKey } from '../../src/server/config-keys.ts';
import { variableOf } from '../../src/server/config-values.ts';

function fallback(key: ConfigKey): string {
  if (key.default === undefined) return '';
  if (key.type === 'regions')
    return (key.default as readonly { name: string }[]).map((region) => `\`${region.name}\``).join(', ');
  return `\`${typeof key.default === 'string' ? key.default : JSON.stringify(key.default)}\``;
}

export function configurationReference(): string {
  const rows = (CONFIG_KEYS as readonly ConfigKey[]).map(
    (key) =>
      `| \`${key.path}\` | ${key.type} | ${fallback(key)} | \`${variableOf(key.path)}\` | ${key.flag === undefined ? '' : `\`${key.flag}\``} | ${key.description.replaceAll('|', '\\|')} |`,
  );
  return `# Configuration of the control plane

Generated from the settings table; do not edit. Every setting with its default. They come from \`berth.yaml\` (or \`--config FILE\`), then \`BERTH_*\`
variables, then flags. Unknown keys, variables and flags are refused at start.

| Key | Type | Default | Variable | Flag | Meaning |
|---|---|---|---|---|---|
${rows.join('\n')}

\`BERTH_BOOTSTRAP_TOKEN\` (32 characters or more) becomes the first platform administrator's token; without it one is
made and written to \`<data-dir>/admin-token\`.
`;
}
