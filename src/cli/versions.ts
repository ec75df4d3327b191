import { type Client, deploymentPath, type Json, segment } from './client.ts';
import type { Input } from './command.ts';
import { EXIT } from './exit-code.ts';
import { outputFormat, printList } from './output.ts';
import { ARCHIVES } from './resources/deployments.ts';
import type { Session } from './session.ts';

/** The kept versions of a deployment, oldest first. */
export async function versions(client: Client, name: string): Promise<readonly Json[]> {
  const found = await client.list(`/api/v1/archives/deployments/${segment(name)}`);
  if (found.length > 0) return found;
  // Tells a deployment that does not exist apart from one without history.
  await client.need({ path: deploymentPath(name) });
  return found;
}

/** `archive list` and `rollout history`: the same versions, looked for under either name. */
export async function listVersions(
  session: Session,
  { parameters: [name = ''], options }: Input,
): Promise<number> {
  const format = outputFormat(options);
  const found = await versions(session.client(options), name);
  await printList(session.terminal, ARCHIVES, found, format, session.now());
  return EXIT.ok;
}
