import type { Rejection } from '../rejections/rejection.ts';
import { isName } from './name.ts';
import { type DeploymentInput, invalid } from './rule.ts';

export function dependsOnRule({ draft }: DeploymentInput): Rejection | undefined {
  for (const [name, gate] of Object.entries(draft.dependsOn ?? {})) {
    if (!isName(name)) {
      return invalid(
        'depends_on_invalid',
        `dependsOn.${name.slice(0, 64)}`,
        name,
        'the name of a deployment',
        'A dependency is named by its deployment name.',
      );
    }
    if (gate !== 'healthy' && gate !== 'started') {
      return invalid(
        'depends_on_invalid',
        `dependsOn.${name}`,
        gate,
        'healthy or started',
        'The gate is not known.',
      );
    }
    if (name === draft.name) {
      return invalid(
        'depends_on_cycle',
        `dependsOn.${name}`,
        name,
        'another deployment',
        'A deployment cannot wait for itself.',
      );
    }
  }
  return undefined;
}
