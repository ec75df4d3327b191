import { examined, type CredentialFinding, type EnvironmentPair } from './finding.ts';
import { tokenScan } from './token-scan.ts';
import { AUTHORIZATION_FORMS } from './web-token.ts';

interface IssuedForm {
  readonly rule: string;
  readonly issuer: string;
  readonly form: RegExp;
}

/** Formats that issuers gave their tokens so that they can be recognised, wherever they stand in a value. */
const PREFIXED: readonly (IssuedForm & { readonly prefixes: readonly string[] })[] = [
  {
    rule: 'berth_token',
    issuer: 'Berth',
    prefixes: ['berth_'],
    form: /berth_[a-z]{2,16}_[A-Za-z0-9]{4,64}_[A-Za-z0-9_-]{16}/y,
  },
  {
    rule: 'aws_access_key',
    issuer: 'AWS',
    prefixes: ['AKIA', 'ASIA', 'ABIA', 'ACCA', 'AGPA', 'AIDA', 'AIPA', 'ANPA', 'ANVA', 'AROA', 'A3T'],
    form: /(?:A3T[A-Z0-9]|A[A-Z]{3})[A-Z0-9]{16}(?![A-Za-z0-9])/y,
  },
  { rule: 'aws_access_key', issuer: 'AWS', prefixes: ['ABSK'], form: /ABSK[A-Za-z0-9+/]{40}/y },
  {
    rule: 'github_token',
    issuer: 'GitHub',
    prefixes: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    form: /gh[oprsu]_(?:[A-Za-z0-9_]{36}|[0-9]{1,20}_[A-Za-z0-9_-]{1,1000}\.)/y,
  },
  { rule: 'github_token', issuer: 'GitHub', prefixes: ['github_pat_'], form: /github_pat_[A-Za-z0-9_]{40}/y },
  {
    rule: 'gitlab_token',
    issuer: 'GitLab',
    prefixes: [
      'glpat-',
      'glptt-',
      'gldt-',
      'glrt-',
      'glrtr-',
      'glcbt-',
      'glft-',
      'glsoat-',
      'glagent-',
      'glimt-',
      'gloas-',
      'glffct-',
    ],
    form: /gl[a-z]{2,5}-[A-Za-z0-9_-]{20}/y,
  },
  {
    rule: 'slack_token',
    issuer: 'Slack',
    prefixes: ['xoxa', 'xoxb', 'xoxc', 'xoxe', 'xoxo', 'xoxp', 'xoxr', 'xoxs', 'xapp-'],
    form: /(?:xox[a-z](?:\.xox[bp])?|xapp)-[A-Za-z0-9]{1,40}-[A-Za-z0-9]/y,
  },
  {
    rule: 'stripe_key',
    issuer: 'Stripe',
    prefixes: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'],
    form: /[rs]k_(?:live|test)_[A-Za-z0-9]{16}/y,
  },
  { rule: 'stripe_key', issuer: 'Stripe', prefixes: ['whsec_'], form: /whsec_[A-Za-z0-9+/]{24}/y },
  { rule: 'google_key', issuer: 'Google', prefixes: ['AIza'], form: /AIza[A-Za-z0-9_-]{35}/y },
  { rule: 'google_key', issuer: 'Google', prefixes: ['GOCSPX-'], form: /GOCSPX-[A-Za-z0-9_-]{24}/y },
  { rule: 'google_key', issuer: 'Google', prefixes: ['ya29.'], form: /ya29\.[A-Za-z0-9_-]{20}/y },
  { rule: 'google_key', issuer: 'Google', prefixes: ['1//0'], form: /1\/\/0[A-Za-z0-9_-]{30}/y },
  { rule: 'npm_token', issuer: 'npm', prefixes: ['npm_'], form: /npm_[A-Za-z0-9_]{36}(?![A-Za-z0-9_])/y },
  { rule: 'pypi_token', issuer: 'PyPI', prefixes: ['pypi-'], form: /pypi-[A-Za-z0-9_-]{50}/y },
  { rule: 'rubygems_token', issuer: 'RubyGems', prefixes: ['rubygems_'], form: /rubygems_[0-9a-f]{48}/y },
  {
    rule: 'sendgrid_key',
    issuer: 'SendGrid',
    prefixes: ['SG.'],
    form: /SG\.[A-Za-z0-9_-]{1,128}\.[A-Za-z0-9_-]{2}/y,
  },
  { rule: 'mailgun_key', issuer: 'Mailgun', prefixes: ['key-'], form: /key-[0-9a-f]{32}(?![A-Za-z0-9])/y },
  {
    rule: 'brevo_key',
    issuer: 'Brevo',
    prefixes: ['xkeysib-', 'xsmtpsib-'],
    form: /x(?:keysib|smtpsib)-[0-9a-f]{64}/y,
  },
  {
    rule: 'twilio_key',
    issuer: 'Twilio',
    prefixes: [
      'SK0',
      'SK1',
      'SK2',
      'SK3',
      'SK4',
      'SK5',
      'SK6',
      'SK7',
      'SK8',
      'SK9',
      'SKa',
      'SKb',
      'SKc',
      'SKd',
      'SKe',
      'SKf',
    ],
    form: /SK[0-9a-f]{32}(?![A-Za-z0-9])/y,
  },
  {
    rule: 'anthropic_key',
    issuer: 'Anthropic',
    prefixes: ['sk-ant-'],
    form: /sk-ant-[a-z0-9]{3,12}-[A-Za-z0-9_-]{16}/y,
  },
  {
    rule: 'openai_key',
    issuer: 'OpenAI or a compatible provider',
    prefixes: ['sk-'],
    form: /sk-(?:(?:proj|svcacct|admin|or-v1|lf)-[A-Za-z0-9_-]{20}|[A-Za-z0-9]{20})/y,
  },
  {
    rule: 'huggingface_token',
    issuer: 'Hugging Face',
    prefixes: ['hf_', 'api_org_'],
    form: /(?:hf|api_org)_[A-Za-z0-9]{34}/y,
  },
  { rule: 'groq_key', issuer: 'Groq', prefixes: ['gsk_'], form: /gsk_[A-Za-z0-9]{40}/y },
  { rule: 'replicate_token', issuer: 'Replicate', prefixes: ['r8_'], form: /r8_[A-Za-z0-9]{37}/y },
  {
    rule: 'digitalocean_token',
    issuer: 'DigitalOcean',
    prefixes: ['dop_v1_', 'doo_v1_', 'dor_v1_'],
    form: /do[opr]_v1_[0-9a-f]{64}/y,
  },
  {
    rule: 'vault_token',
    issuer: 'HashiCorp Vault',
    prefixes: ['hvs.', 'hvb.', 'hvr.'],
    form: /hv[bsr]\.[A-Za-z0-9_-]{20}/y,
  },
  {
    rule: 'dockerhub_token',
    issuer: 'Docker Hub',
    prefixes: ['dckr_pat_', 'dckr_oat_'],
    form: /dckr_[op]at_[A-Za-z0-9_-]{20}/y,
  },
  {
    rule: 'cloudflare_token',
    issuer: 'Cloudflare',
    prefixes: ['cfk_', 'cfut_', 'cfat_'],
    form: /cf(?:k|ut|at)_[A-Za-z0-9]{40}/y,
  },
  {
    rule: 'cloudflare_token',
    issuer: 'Cloudflare',
    prefixes: ['v1.0-'],
    form: /v1\.0-[0-9a-f]{24}-[0-9a-f]{40}/y,
  },
  { rule: 'grafana_token', issuer: 'Grafana', prefixes: ['glc_'], form: /glc_[A-Za-z0-9+/]{32}/y },
  {
    rule: 'grafana_token',
    issuer: 'Grafana',
    prefixes: ['glsa_'],
    form: /glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}/y,
  },
  {
    rule: 'shopify_token',
    issuer: 'Shopify',
    prefixes: ['shpat_', 'shpca_', 'shppa_', 'shpss_', 'shpua_'],
    form: /shp[a-z]{2}_[A-Za-z0-9]{32}/y,
  },
  {
    rule: 'telegram_token',
    issuer: 'Telegram',
    prefixes: ['bot'],
    form: /bot[0-9]{8,10}:AA[A-Za-z0-9_-]{33}/y,
  },
  { rule: 'databricks_token', issuer: 'Databricks', prefixes: ['dapi'], form: /dapi[0-9a-fA-F]{32}/y },
  {
    rule: 'linear_key',
    issuer: 'Linear',
    prefixes: ['lin_api_', 'lin_oauth_'],
    form: /lin_(?:api|oauth)_[A-Za-z0-9_]{32}/y,
  },
  { rule: 'notion_token', issuer: 'Notion', prefixes: ['ntn_'], form: /ntn_[0-9]{11}[A-Za-z0-9]{35}/y },
  {
    rule: 'notion_token',
    issuer: 'Notion',
    prefixes: ['secret_'],
    form: /secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])/y,
  },
  {
    rule: 'figma_token',
    issuer: 'Figma',
    prefixes: ['figd_', 'figo_', 'figu_', 'figor_', 'figur_'],
    form: /fig[a-z]{1,2}_[A-Za-z0-9_-]{40}/y,
  },
  {
    rule: 'vercel_token',
    issuer: 'Vercel',
    prefixes: ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_'],
    form: /vc[acikpr]_[A-Za-z0-9]{20}/y,
  },
  {
    rule: 'tailscale_key',
    issuer: 'Tailscale',
    prefixes: ['tskey-'],
    form: /tskey-[a-z]{2,20}-[0-9A-Za-z_]{8,40}-[0-9A-Za-z_]{16}/y,
  },
  {
    rule: 'onepassword_token',
    issuer: '1Password',
    prefixes: ['ops_ey'],
    form: /ops_ey[A-Za-z0-9+/=]{80}/y,
  },
  {
    rule: 'doppler_token',
    issuer: 'Doppler',
    prefixes: ['dp.'],
    form: /dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40}/y,
  },
  { rule: 'pulumi_token', issuer: 'Pulumi', prefixes: ['pul-'], form: /pul-[0-9a-f]{40}/y },
  { rule: 'postman_key', issuer: 'Postman', prefixes: ['PMAK-'], form: /PMAK-[0-9a-f]{24}-[0-9a-f]{34}/y },
  {
    rule: 'newrelic_key',
    issuer: 'New Relic',
    prefixes: ['NRAK-', 'NRII-', 'NRIQ-', 'NRRA-'],
    form: /NR[A-Z]{2}-[A-Za-z0-9_-]{20}/y,
  },
  {
    rule: 'sentry_token',
    issuer: 'Sentry',
    prefixes: ['sntrys_', 'sntryu_'],
    form: /sntry[su]_[A-Za-z0-9+/=_-]{40}/y,
  },
  {
    rule: 'square_token',
    issuer: 'Square',
    prefixes: ['sq0atp-', 'sq0csp-'],
    form: /sq0[a-z]{3}-[A-Za-z0-9_-]{22}/y,
  },
  { rule: 'square_token', issuer: 'Square', prefixes: ['EAAA'], form: /EAAA[A-Za-z0-9_-]{60}/y },
  {
    rule: 'atlassian_token',
    issuer: 'Atlassian',
    prefixes: ['ATATT3', 'ATCTT3', 'ATBB'],
    form: /AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{28}/y,
  },
  {
    rule: 'planetscale_token',
    issuer: 'PlanetScale',
    prefixes: ['pscale_'],
    form: /pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32}/y,
  },
  {
    rule: 'fly_token',
    issuer: 'Fly.io',
    prefixes: ['fo1_', 'fm1_', 'fm1a_', 'fm1r_', 'fm2_'],
    form: /f[om][12][ar]?_[A-Za-z0-9+/=_-]{40}/y,
  },
  { rule: 'nuget_key', issuer: 'NuGet', prefixes: ['oy2'], form: /oy2[a-z0-9]{43}(?![A-Za-z0-9])/y },
  { rule: 'artifactory_key', issuer: 'JFrog Artifactory', prefixes: ['AKCp'], form: /AKCp[A-Za-z0-9]{60}/y },
  {
    rule: 'artifactory_key',
    issuer: 'JFrog Artifactory',
    prefixes: ['cmVmdGtuO'],
    form: /cmVmdGtuO[A-Za-z0-9]{40}/y,
  },
  {
    rule: 'webhook_url',
    issuer: 'a chat service, as a webhook address',
    prefixes: ['hooks.slack.com/'],
    form: /hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9]{1,40}\/[A-Za-z0-9]{1,40}\/[A-Za-z0-9]/y,
  },
  {
    rule: 'webhook_url',
    issuer: 'a chat service, as a webhook address',
    prefixes: ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'],
    form: /discord(?:app)?\.com\/api\/webhooks\/[0-9]{10,24}\/[A-Za-z0-9_-]{32}/y,
  },
  {
    rule: 'webhook_url',
    issuer: 'a chat service, as a webhook address',
    prefixes: ['webhook.office.com/'],
    form: /webhook\.office\.com\/webhookb2\/[0-9a-f-]{36}@/y,
  },
  {
    rule: 'password_hash',
    issuer: 'a password hash function',
    prefixes: ['$2a$', '$2b$', '$2x$', '$2y$'],
    form: /\$2[abxy]\$[0-9]{2}\$[A-Za-z0-9./]{22}/y,
  },
  {
    rule: 'password_hash',
    issuer: 'a password hash function',
    prefixes: ['$apr1$'],
    form: /\$apr1\$[A-Za-z0-9./]{1,8}\$[A-Za-z0-9./]{16}/y,
  },
  {
    rule: 'password_hash',
    issuer: 'a password hash function',
    prefixes: ['$argon2'],
    form: /\$argon2(?:id|i|d)\$v=/y,
  },
  {
    rule: 'password_hash',
    issuer: 'a password hash function',
    prefixes: ['$1$', '$5$', '$6$', '$7$', '$y$', '$gy$'],
    form: /\$(?:[1567y]|gy)\$[A-Za-z0-9./=,]{1,32}\$(?:[A-Za-z0-9./]{1,32}\$)?[A-Za-z0-9./]{16}/y,
  },
];

/** Formats without a prefix of their own: only recognised when they are all there is. */
const WHOLE: readonly IssuedForm[] = [
  { rule: 'telegram_token', issuer: 'Telegram', form: /^[0-9]{8,10}:AA[A-Za-z0-9_-]{33}$/ },
  {
    rule: 'discord_token',
    issuer: 'Discord',
    form: /^(?:Bot )?[MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}$/,
  },
  { rule: 'azure_credential', issuer: 'Azure', form: /^[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}$/ },
  {
    rule: 'terraform_token',
    issuer: 'HCP Terraform',
    form: /^[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,90}$/,
  },
  { rule: 'vault_token', issuer: 'HashiCorp Vault', form: /^[bs]\.[A-Za-z0-9]{24}$/ },
  { rule: 'mailchimp_key', issuer: 'Mailchimp', form: /^[0-9a-f]{32}-us[0-9]{1,2}$/ },
  { rule: 'asana_token', issuer: 'Asana', form: /^[0-9]\/[0-9]{16}:[0-9a-f]{32}$/ },
  { rule: 'crates_token', issuer: 'crates.io', form: /^cio[A-Za-z0-9]{32}$/ },
];
const MAX_WHOLE = 256;

function finding({ rule, issuer }: IssuedForm): CredentialFinding {
  return { rule, why: `The value has the form of a credential issued by ${issuer}.` };
}

const scan = tokenScan([
  ...PREFIXED.map((entry) => ({ prefixes: entry.prefixes, pattern: entry.form, found: finding(entry) })),
  ...AUTHORIZATION_FORMS,
]);
const whole = WHOLE.map((entry) => ({ form: entry.form, found: finding(entry) }));

export function findIssuedToken({ value }: EnvironmentPair): CredentialFinding | undefined {
  const found = scan(examined(value));
  if (found !== undefined || value.length > MAX_WHOLE) return found;
  return whole.find(({ form }) => form.test(value))?.found;
}
