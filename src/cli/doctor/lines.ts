import type { OptionValues } from '../option-values.ts';
import type { Session } from '../session.ts';
import { CHECKS } from './checks.ts';
import type { Finding } from './finding.ts';

export interface Checked {
  readonly name: string;
  readonly finding: Finding;
}

/** Every check in its order; without a control plane those that need it are not tried. */
export async function* checked(session: Session, options: OptionValues): AsyncGenerator<Checked> {
  let reachable = true;
  for (const { name, needsServer, check } of CHECKS) {
    const finding: Finding =
      needsServer && !reachable
        ? { state: 'unknown', text: 'not checked: the control plane cannot be reached' }
        : await check(session, options);
    if (name === 'control plane' && finding.state === 'bad') reachable = false;
    yield { name, finding };
  }
}

/** As `berth doctor` says it, without colours. */
export async function doctorLines(session: Session, options: OptionValues): Promise<string> {
  const lines: string[] = [];
  for await (const { name, finding } of checked(session, options))
    lines.push(`${finding.state.padEnd(8)} ${name.padEnd(16)} ${finding.text}`, ...(finding.advice ?? []));
  return `${lines.join('\n')}\n`;
}
