import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detectCredential } from './detect.ts';
import { PUBLISHED_RULES } from './published.ts';
import { specimen } from './specimen.ts';

const PRESET = '@secretlint/secretlint-rule-preset-recommend';

async function flaggedBySecretlint(key: string, value: string): Promise<boolean> {
  const result = await lintSource({
    source: { filePath: 'deployment.env', content: `${key}=${value}\n`, contentType: 'text', ext: '.env' },
    options: { noPhysicFilePath: true, config: { rules: [{ id: PRESET, rule: creator, options: {} }] } },
  });
  return result.messages.length > 0;
}

const hex8 = specimen('', 8, 'hex');
const SPECIMENS: readonly (readonly [key: string, value: string])[] = [
  ['AWS_SECRET_ACCESS_KEY', specimen('', 40)],
  ['A', specimen('ghp_', 36)],
  ['A', specimen('build_7ghs_', 36)],
  ['A', `ghs_${specimen('', 8, 'digits')}_${specimen('eyJ', 20)}.${specimen('', 40)}.${specimen('', 40)}`],
  ['A', specimen('github_pat_', 82)],
  ['A', specimen('glpat-', 20)],
  ['A', specimen('glc_', 60)],
  ['A', `${specimen('glsa_', 32)}_${hex8}`],
  ['A', specimen('gsk_', 52)],
  ['A', specimen('npm_', 36)],
  ['A', `xoxb-${specimen('', 12, 'digits')}-${specimen('', 24)}`],
  ['A', `xapp-1-${specimen('', 11, 'upper')}-${specimen('', 13, 'digits')}-${specimen('', 40)}`],
  ['A', `https://hooks.slack.com/services/T02AB3CD4/B05EF6GH7/${specimen('', 24)}`],
  ['A', 'https://deploy:hunterland@artifacts.example.com/pull'],
  ['A', 'https://abcdef:x-oauth-basic@github.com/shop/api'],
  ['A', 'mongodb://root:hunterland@m1.example.com:27017/shop'],
  ['A', 'jdbc:mysql://root:hunterland@db.example.com/shop'],
  ['A', 'postgresql://root:hunterland@db.example.com/shop'],
  ['A', `sk-${specimen('', 20)}T3BlbkFJ${specimen('', 20)}`],
  ['A', `sk-proj-${specimen('', 74)}T3BlbkFJ${specimen('', 74)}`],
  ['A', `${specimen('sk-ant-api03-', 93)}AA`],
  ['A', `hf_${specimen('', 90).replace(/\d/g, '').slice(0, 34)}`],
  ['A', specimen('lin_api_', 40)],
  ['A', `${specimen('ntn_', 11, 'digits')}${specimen('', 35)}`],
  ['A', `${specimen('SG.', 22)}.${specimen('', 43)}`],
  ['A', specimen('shpat_', 32, 'hex')],
  ['A', specimen('sk_live_', 24)],
  ['A', specimen('rk_test_', 99)],
  ['A', specimen('vcp_', 24)],
  ['A', specimen('dapi', 32, 'hex')],
  ['A', specimen('dckr_pat_', 27)],
  ['A', specimen('figd_', 40)],
  ['A', `${specimen('cfut_', 40)}${hex8}`],
  ['A', `tskey-auth-${specimen('', 17)}-${specimen('', 32)}`],
  ['A', specimen('hvs.', 95)],
  ['A', specimen('hvb.', 140)],
];

/** Prefixes with anything behind them: shapes near the border between token and text. */
const nearTokens = fc
  .tuple(
    fc.constantFrom(
      'AKIA',
      'ghp_',
      'ghs_12_',
      'github_pat_',
      'glpat-',
      'glc_',
      'glsa_',
      'gsk_',
      'npm_',
      'xoxb-1-',
      'xoxp-',
      'sk-',
      'sk-ant-api03-',
      'hf_',
      'lin_api_',
      'SG.',
      'shpat_',
      'sk_live_',
      'vcp_',
      'dapi',
      'dckr_pat_',
      'figd_',
      'hvs.',
      '_authToken=',
      'https://u:p',
      'https://user:',
      'mysql://u:',
      'postgres://u:',
      'mongodb://u:',
      'aws_secret_access_key=',
    ),
    fc.constantFrom(
      'alphanumeric' as const,
      'lower' as const,
      'upper' as const,
      'hex' as const,
      'digits' as const,
    ),
    fc.integer({ min: 1, max: 130 }),
    fc.constantFrom('', '.', '-', '_', '@db.example.com', '@db.example.com/shop', ' ', '='),
    fc.integer({ min: 0, max: 60 }),
    fc.constantFrom('', 'x', '7', '_', '-', '"', '/', 'é'),
  )
  .map(([prefix, alphabet, length, joint, tail, before]) => {
    const start = `${before}${prefix}`;
    return `${specimen(start, length, alphabet)}${joint}${specimen('', tail)}`;
  });

describe('what secretlint flags', () => {
  it.each(SPECIMENS)('%s=%s is flagged here', async (key, value) => {
    // Proves that the comparison sees: a specimen that secretlint lets pass compares nothing.
    expect(await flaggedBySecretlint(key, value)).toBe(true);
    expect(detectCredential(key, value)).toBeDefined();
  });

  it('is flagged here in the published examples', async () => {
    for (const { flagged, notFlagged } of PUBLISHED_RULES) {
      for (const [key, value] of [...flagged, ...notFlagged]) {
        if (await flaggedBySecretlint(key, value))
          expect(detectCredential(key, value), `${key}=${value}`).toBeDefined();
      }
    }
  });

  it('is flagged here near the border of each form', async () => {
    await fc.assert(
      fc.asyncProperty(nearTokens, async (value) => {
        if (await flaggedBySecretlint('A', value)) expect(detectCredential('A', value)).toBeDefined();
      }),
      { numRuns: 400 },
    );
  }, 60_000);
});
