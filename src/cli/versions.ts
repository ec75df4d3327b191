import { type Client, named } from './client.ts';
import type { Input } from './command.ts';
import { EXIT } from './exit-code.ts';
import { outputFormat, printList } from './output.ts';
import { ARCHIVES } from './resources/deployments.ts';
import type { Archive } from './records.ts';
import type { Session } from './session.ts';

/** The kept versions of a deployment, oldest first. */
export async function versions(client: Client, name: string): Promise<readonly Archive[]> {
  const found = await client.list('GET /api/v1/archives/deployments/{name}', named(name));
  if (found.length > 0) return found;
  // Tells a deployment that does not exist apart from one without history.
  await client.record('GET /api/v1/deployments/{name}', named(name));
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
