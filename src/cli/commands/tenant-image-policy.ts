import { OUTPUT_OPTION, type Parameter, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { textOf } from '../fields.ts';
import { inputFile } from '../input-text.ts';
import type { ImagePolicy } from '../records.ts';
import type { OptionValues } from '../option-values.ts';
import { outputFormat, printWhole } from '../output.ts';

interface Demand {
  readonly images: string;
  readonly keys: readonly string[];
}

/** `registry.example.com/acme/*=cosign.pub`; keys of the same images are alternatives. */
function demandsOf(options: OptionValues): readonly Demand[] | undefined {
  const required = options.list('require');
  if (options.flag('none')) {
    if (required.length > 0) throw usage('--none takes every entry away; do not give one with it');
    return [];
  }
  if (required.length === 0) return undefined;
  const keys = new Map<string, readonly string[]>();
  for (const text of required) {
    const at = text.lastIndexOf('=');
    if (at < 1)
      throw usage(`--require ${text}: expected images=key file, e.g. registry.example.com/acme/*=cosign.pub`);
    const images = text.slice(0, at);
    keys.set(images, [...(keys.get(images) ?? []), inputFile(text.slice(at + 1), '--require')]);
  }
  return [...keys].map(([images, own]) => ({ images, keys: own }));
}

function policyText(policy: ImagePolicy): string {
  const entries = policy.signatures ?? [];
  if (entries.length === 0) return 'no image has to be signed\n';
  return entries
    .map(
      (entry) =>
        `${textOf(entry.images)}\n${(entry.fingerprints ?? [])
          .map((key) => `  signed by ${key}\n`)
          .join('')}`,
    )
    .join('');
}

export function imagePolicyCommand(tenant: Parameter): Subcommand {
  return {
    name: 'image-policy',
    summary: 'Show or replace which images of a tenant have to be signed',
    description: [
      'Without flags, shows the policy. With flags, replaces it whole. An image that an entry covers is accepted only with a signature of one of its keys, made with cosign, over the very bytes that the registry has; every entry that covers it has to be met. What runs already keeps running. A tenant administrator sets it.',
    ],
    parameters: [tenant],
    options: [
      {
        flags: '--require <images=file>',
        description:
          'Images and the file of a public key that signs them. Images: *, a repository with its registry, or a place with everything below it. May be repeated; keys of the same images are alternatives.',
        repeatable: true,
      },
      { flags: '--none', description: 'No image has to be signed.' },
      OUTPUT_OPTION,
      ...REMOTE_OPTIONS.slice(0, 1),
    ],
    examples: [
      { line: 'berth tenant image-policy acme', what: 'what is set' },
      {
        line: "berth tenant image-policy acme --require 'registry.example.com/acme/*=cosign.pub'",
        what: 'images of acme run only with a signature of that key',
      },
    ],
    run: async (session, { parameters: [slug = ''], options }) => {
      const format = outputFormat(options);
      const signatures = demandsOf(options);
      const params = { tenant: slug };
      const client = session.client(options);
      const policy: ImagePolicy =
        signatures === undefined
          ? await client.record('GET /api/v1/tenants/{tenant}/image-policy', { params })
          : await client.record('PUT /api/v1/tenants/{tenant}/image-policy', {
              params,
              body: { signatures },
            });
      if (!(await printWhole(session.terminal, format, policy))) session.terminal.out(policyText(policy));
      const removed = policy.removed ?? [];
      if (removed.length > 0) session.terminal.err(`no longer demanded: ${removed.join(', ')}\n`);
      return EXIT.ok;
    },
  };
}
