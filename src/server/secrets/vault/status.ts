import type { SecretsStatus } from '../port.ts';
import { isSuccess } from './answers.ts';
import type { VaultCalls } from './calls.ts';
import type { VaultAnswer, VaultHttp } from './http.ts';

/** Of the server as a whole, so without the namespace; then whether it knows us, inside the namespace. */
export async function vaultStatus(
  http: VaultHttp,
  calls: Pick<VaultCalls, 'liveToken'>,
): Promise<SecretsStatus> {
  const answer = await http.send({
    method: 'GET',
    path: 'sys/health?standbyok=true&perfstandbyok=true',
    serverWide: true,
  });
  if (!answer.reached)
    return { kind: 'vault', connected: false, sealed: false, problem: `the secrets store ${answer.problem}` };
  const failed = healthProblem(answer);
  if (failed !== undefined) return { kind: 'vault', connected: failed.sealed, ...failed };
  const held = await calls.liveToken();
  if (held.ok) return { kind: 'vault', connected: true, sealed: false };
  return { kind: 'vault', connected: false, sealed: held.reason === 'sealed', problem: held.message };
}

function healthProblem(
  answer: Extract<VaultAnswer, { reached: true }>,
): { readonly sealed: boolean; readonly problem: string } | undefined {
  if (isSuccess(answer)) return undefined;
  if (answer.status === 501) return { sealed: true, problem: 'the secrets store is not initialised' };
  if (answer.status === 503) return { sealed: true, problem: 'the secrets store is sealed' };
  return { sealed: false, problem: `the secrets store answered ${answer.status} to its health check` };
}

/** Says once that the store is lost and once that it is back, however often it is probed meanwhile. */
export function noticeChanges(
  warn: (details: Readonly<Record<string, unknown>>, message: string) => void,
): (status: SecretsStatus) => SecretsStatus {
  let lost = false;
  return (status) => {
    const bad = !status.connected || status.sealed;
    if (bad && !lost) warn({ problem: status.problem }, 'the secrets store is lost');
    if (!bad && lost) warn({}, 'the secrets store is back');
    lost = bad;
    return status;
  };
}
