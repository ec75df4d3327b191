import { describe, expect, it } from 'vitest';
import { detectCredential } from './detect.ts';
import { specimen } from './specimen.ts';

// Written before the rules and never used to tune them (dependencies.md: a tuned version fell from 35/36 to
// 10/24 on unseen pairs). A miss here is a measure, not a to-do: write a new list before changing the rules
// because of this one.
const POSITIVES: readonly (readonly [key: string, value: string])[] = [
  ['PGPASSWORD', 'correct-horse'],
  ['MYSQL_ROOT_PASSWORD', '1234'],
  ['REDISCLI_AUTH', 'r3dis-Cache-77'],
  ['CELERY_BROKER_URL', 'amqp://guest:guest@rabbit:5672//'],
  ['CACHE', 'redis://:p4ss@redis:6379/0'],
  ['MONGO_URI', 'mongodb://root:example@m1:27017,m2:27017/?replicaSet=rs0'],
  ['JAVA_OPTS', '-Xmx512m -Djavax.net.ssl.keyStorePassword=winter-2024'],
  ['SPRING_APPLICATION_JSON', '{"spring":{"datasource":{"username":"app","password":"tiger99"}}}'],
  ['jwtSecret', 'not-so-secret-string'],
  ['DJANGO_SECRET_KEY', 'django-insecure-4k!x)z2v9^q'],
  ['RAILS_MASTER_KEY', specimen('', 32, 'hex')],
  ['APP_KEY', `${specimen('base64:', 43)}=`],
  ['CURL_ARGS', '-s -u deploy:Sup3rS3cret https://artifacts.internal/pull'],
  ['SLACK_WEBHOOK', `https://hooks.slack.com/services/T02AB3CD4/B05EF6GH7/${specimen('', 24)}`],
  ['CONFIG_B64', 'LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb3dJQkFBS0NBUUVBdTFTVTFMZlZMUEhD'],
  ['EXTRA_HEADERS', `Authorization: Bearer ${specimen('', 40)}`],
  ['TELEGRAM_BOT', `${specimen('7', 9, 'digits')}:${specimen('AA', 33)}`],
  ['ASSETS', `https://acct.blob.core.windows.net/c?sv=2022-11-02&sr=c&sp=r&sig=${specimen('', 43)}%3D`],
  ['SOPS_AGE', specimen('AGE-SECRET-KEY-1', 58, 'upper')],
  ['BASIC_AUTH_USERS', 'admin:$2y$05$b9XkqLmVw3eR7tYuIoPaSdFgHjKlZxCvBnM1234567890QwErTyUi'],
  ['ConnectionStrings__Default', 'Server=db;Database=shop;User Id=sa;Password=Str0ng!Pass;'],
  ['stripe.api.key', specimen('sk_test_', 24)],
  ['SESSION_COOKIE_SIGNING_KEY', specimen('', 44)],
  ['S3_SECRET', specimen('', 40)],
  ['DB_DSN', 'shop:hunter2@tcp(mysql:3306)/shop?parseTime=true'],
];

const NEGATIVES: readonly (readonly [key: string, value: string])[] = [
  ['PWD', '/usr/src/app'],
  ['BYPASS_LIST', 'localhost,127.0.0.1,.cluster.local'],
  ['COMPASS', 'north-by-northwest'],
  ['PASSWORD_MIN_LENGTH', '12'],
  ['JWT_SECRET_FILE', '/run/secrets/jwt'],
  ['MAX_TOKENS', '4096'],
  ['TOKENIZER', 'bert-base-uncased'],
  ['OAUTH_TOKEN_URL', 'https://idp.example.com/realms/shop/protocol/openid-connect/token'],
  ['SENTRY_DSN', `https://${specimen('', 32, 'hex')}@o112233.ingest.sentry.io/4501234`],
  ['STRIPE_PUBLISHABLE_KEY', specimen('pk_live_', 24)],
  ['SSH_PUBLIC_KEY', `ssh-ed25519 ${specimen('AAAAC3NzaC1lZDI1NTE5AAAAI', 43)} ops@example.com`],
  ['SORT_KEY', 'created_at'],
  ['DYNAMO_PARTITION_KEY', 'tenantId'],
  ['BUILD_REVISION', specimen('', 40, 'hex')],
  ['APP_IMAGE', `registry.example.com/shop/api@sha256:${specimen('', 64, 'hex')}`],
  ['MAIL_FROM', 'Shop Support <support@example.com>'],
  ['DATABASE_URL', 'postgres://app@db.internal:5432/shop?sslmode=verify-full'],
  ['PUBLIC_URL', 'https://shop.example.com/login?next=/account:settings@home'],
  ['KUBERNETES_SECRET_NAME', 'shop-db-credentials'],
  ['FEATURES', '{"newCheckout":true,"passwordless":false,"tokenRefreshSeconds":300}'],
  ['INSTALLATION_ID', '7f2b9c4d-8e3a-4051-9b2c-4d8e3a6051aa'],
  ['NO_PASSWORD', 'true'],
  ['PROMPT_TEMPLATE', 'Ask the user for a password: never repeat it, and keep tokens short.'],
  ['COLLECTOR_ENDPOINT', 'http://otel-collector.monitoring.svc.cluster.local:4318/v1/traces'],
  ['ALLOWED_ORIGINS', 'https://a.example.com,https://b.example.com:8443'],
];

// The score of the rules as they were first written; raised only when new rules are measured on a new list.
const FIRST_SCORE = { found: 25, falseAlarms: 0 };

describe('pairs the rules were not tuned on', () => {
  it('holds 25 credentials and 25 constants', () => {
    expect([POSITIVES.length, NEGATIVES.length]).toEqual([25, 25]);
  });

  it('are told apart at least as well as by the first version', () => {
    const missed = POSITIVES.filter(([key, value]) => detectCredential(key, value) === undefined);
    const alarms = NEGATIVES.filter(([key, value]) => detectCredential(key, value) !== undefined);
    expect(
      POSITIVES.length - missed.length,
      `missed ${missed.map(String).join(' | ')}`,
    ).toBeGreaterThanOrEqual(FIRST_SCORE.found);
    expect(alarms.length, `alarms ${alarms.map(String).join(' | ')}`).toBeLessThanOrEqual(
      FIRST_SCORE.falseAlarms,
    );
  });
});
