import { describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { openVault } from './open-vault.ts';

const FILES: Readonly<Record<string, string>> = { '/token': 'hvs.token\n', '/empty': '\n', '/ca': 'no pem' };

function readFile(path: string): string {
  const content = FILES[path];
  if (content === undefined)
    throw Object.assign(new Error(`ENOENT: no such file ${path}`), { code: 'ENOENT' });
  return content;
}

async function open(settings: Readonly<Record<string, string>>): Promise<string> {
  const environment = Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [`BERTH_SECRETS_VAULT_${key}`, value]),
  );
  try {
    const { secrets } = loadConfig([], { BERTH_SECRETS_KIND: 'vault', ...environment });
    const store = await openVault(secrets.vault, readFile, () => undefined);
    await store.close();
    return 'opened';
  } catch (error) {
    return String(error);
  }
}

const GOOD = { ADDRESS: 'https://vault.internal:8200', TOKEN_FILE: '/token' } as const;

describe('settings of Vault that are wrong are told by their name', () => {
  it.each<readonly [string, Readonly<Record<string, string>>, string]>([
    [
      'an address that is none',
      { ...GOOD, ADDRESS: 'vault:8200:x' },
      'secrets.vault.address must be an origin',
    ],
    ['another scheme', { ...GOOD, ADDRESS: 'vault:8200' }, 'secrets.vault.address must be an origin'],
    ['a path', { ...GOOD, ADDRESS: 'https://v:8200/vault' }, '/vault would be ignored'],
    ['a user', { ...GOOD, ADDRESS: 'https://a:b@v:8200' }, 'secrets.vault.tokenFile'],
    ['no address', { TOKEN_FILE: '/token' }, 'secrets.vault.address'],
    [
      'an absent token',
      { ...GOOD, TOKEN_FILE: '/nowhere' },
      'secrets.vault.tokenFile: /nowhere cannot be read',
    ],
    ['an empty token', { ...GOOD, TOKEN_FILE: '/empty' }, 'secrets.vault.tokenFile: /empty is empty'],
    [
      'an absent authority',
      { ...GOOD, CA: '/nowhere' },
      'secrets.vault.ca: /nowhere cannot be read (ENOENT)',
    ],
    ['no certificate', { ...GOOD, CA: '/ca' }, 'secrets.vault.ca: /ca holds no certificate'],
    ['a role alone', { ADDRESS: GOOD.ADDRESS, ROLE_ID: 'r' }, 'secrets.vault.secretIdFile as well'],
    [
      'an absent secret id',
      { ADDRESS: GOOD.ADDRESS, ROLE_ID: 'r', SECRET_ID_FILE: '/nowhere' },
      'secrets.vault.secretIdFile: /nowhere',
    ],
    ['both kinds', { ...GOOD, ROLE_ID: 'r', SECRET_ID_FILE: '/token' }, 'exclude one another'],
    ['nothing to log in with', { ADDRESS: GOOD.ADDRESS }, 'secrets.vault.tokenFile, or'],
    ['a deadline that is none', { ...GOOD, TIMEOUT: 'soon' }, 'secrets.vault.timeout'],
  ])('%s', async (_what, settings, words) => {
    const told = await open(settings);
    expect(told).toContain('ConfigError');
    expect(told).toContain(words);
    expect(told).not.toContain('hvs.');
  });

  it('are taken when they are right', async () => {
    expect(await open(GOOD)).toBe('opened');
    expect(await open({ ...GOOD, ADDRESS: 'https://vault.internal:8200/', TIMEOUT: '5s' })).toBe('opened');
  });
});
