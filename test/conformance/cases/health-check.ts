import type { Json } from '../../support/harness/api-client.ts';
import { type Case, inside, post, put, refused } from './case.ts';

const CHECK: Json = { type: 'exec', command: ['wget -qO- localhost:8080/ok'] };
const check = (fields: Json) => post({ healthCheck: { ...CHECK, ...fields } });

/** Health checks, and the durations beside them. */
export const healthCheckCases: readonly Case[] = [
  ...refused('healthcheck_command_missing', 'healthCheck.command', {
    absent: check({ command: undefined }),
    'no element': check({ command: [] }),
    'an empty element': check({ command: [''] }),
    'only spaces': check({ command: [' ', '\t'] }),
    'by an update': put({}, { healthCheck: { type: 'exec' } }),
  }),
  ...inside('healthcheck_command_missing', {
    'shell form': check({ command: ['curl -f localhost || exit 1'] }),
    'argv form': check({ command: ['/bin/check', '--deep'] }),
    'with the prefix of the engine': check({ command: ['CMD-SHELL', 'test -f /tmp/ok'] }),
  }),
  ...refused('healthcheck_retries_below_floor', 'healthCheck.retries', {
    '2': check({ retries: 2 }),
    '0': check({ retries: 0 }),
    '-1': check({ retries: -1 }),
  }),
  ...inside('healthcheck_retries_below_floor', {
    '3': check({ retries: 3 }),
    '4': check({ retries: 4 }),
    absent: check({ retries: undefined }),
  }),
  ...refused('healthcheck_timeout_below_floor', 'healthCheck.timeout', {
    '9s': check({ timeout: '9s' }),
    '9999ms': check({ timeout: '9999ms' }),
    '9.999s': check({ timeout: '9.999s' }),
    '1ms': check({ timeout: '1ms' }),
  }),
  ...inside('healthcheck_timeout_below_floor', {
    '10s': check({ timeout: '10s' }),
    '10000ms': check({ timeout: '10000ms' }),
    '1m30s': check({ timeout: '1m30s' }),
    absent: check({ timeout: undefined }),
  }),
  ...refused('healthcheck_type_inert', 'healthCheck.type', {
    'no type': check({ type: undefined }),
    'empty type': check({ type: '' }),
    'type none': check({ type: 'none' }),
    'null type': check({ type: null }),
    'an empty block': post({ healthCheck: {} }),
    NONE: check({ command: ['NONE'] }),
    true: check({ command: ['true'] }),
    'the full path of true': check({ command: ['/bin/true'] }),
    'a colon': check({ command: [':'] }),
    'exit 0': check({ command: ['exit 0'] }),
    'through a shell': check({ command: ['sh', '-c', 'exit 0'] }),
    'a failure that is swallowed': check({ command: ['curl localhost || true'] }),
    'behind the prefix of the engine': check({ command: ['CMD', 'true'] }),
  }),
  ...inside('healthcheck_type_inert', {
    'a command that can fail': check({ command: ['test -f /tmp/ok'] }),
    'a program whose name starts like one that cannot': check({ command: ['truecheck'] }),
    'exit 1 on failure': check({ command: ['curl localhost || exit 1'] }),
    'no block': post({ healthCheck: null }),
  }),
  ...refused('healthcheck_type_unsupported', 'healthCheck.type', {
    http: check({ type: 'http' }),
    tcp: check({ type: 'tcp' }),
    'another case': check({ type: 'Exec' }),
    number: check({ type: 1 }),
    list: check({ type: ['exec'] }),
  }),
  ...inside('healthcheck_type_unsupported', { exec: check({}) }),
  ...refused('healthcheck_duration_invalid', 'healthCheck.interval', {
    'no unit': check({ interval: '10' }),
    zero: check({ interval: '0s' }),
    negative: check({ interval: '-1s' }),
    'over a day': check({ interval: '25h' }),
    words: check({ interval: 'ten seconds' }),
  }),
  ...refused('healthcheck_duration_invalid', 'healthCheck.timeout', { empty: check({ timeout: '' }) }),
  ...refused('healthcheck_duration_invalid', 'healthCheck.startPeriod', {
    space: check({ startPeriod: '5 s' }),
  }),
  ...refused('healthcheck_duration_invalid', 'healthCheck.restartAfter', {
    'no unit': check({ restartAfter: '30' }),
    'less than a second': check({ restartAfter: '999ms' }),
    'over a day': check({ restartAfter: '25h' }),
    'another word': check({ restartAfter: 'off' }),
  }),
  ...inside('healthcheck_duration_invalid', {
    'never restarted': check({ restartAfter: 'never' }),
    'restarted after a second': check({ restartAfter: '1s' }),
    'a day': check({ interval: '24h' }),
    'a start period of zero': check({ startPeriod: '0s' }),
    milliseconds: check({ interval: '500ms' }),
  }),
];
