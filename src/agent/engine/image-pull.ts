import type { PullProgress, RegistryCredentials } from './engine.ts';
import { EngineError } from './errors.ts';
import { optional } from '../../core/model/values.ts';
import { fields, nonEmpty, number, text } from './fields.ts';

/** Go's decoder wants URL-safe base64 with its padding, which Node leaves out. */
export function registryAuth(credentials: RegistryCredentials): string {
  const { username, password, serverAddress } = credentials;
  const plain = JSON.stringify({ username, password, serveraddress: serverAddress });
  return Buffer.from(plain).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/** A line of the pull's stream. An error can come in any of them, long after the status was 200. */
export function pullProgress(value: unknown): PullProgress {
  const line = fields(value);
  const failed = nonEmpty(fields(line['errorDetail'])['message']) ?? nonEmpty(line['error']);
  if (failed !== undefined) throw new EngineError(failed, 0);
  const detail = fields(line['progressDetail']);
  return {
    ...optional('layer', nonEmpty(line['id'])),
    status: text(line['status']) ?? '',
    ...optional('currentBytes', number(detail['current'])),
    ...optional('totalBytes', number(detail['total'])),
  };
}
