import type { ImageCheck } from '../../registry/check.ts';
import type { ImageOutcome } from '../../registry/outcome.ts';

/** Of many images in one request: a registry that was silent for one of them is not waited for again for each of the others. */
export function askingOnce(images: ImageCheck): ImageCheck {
  const silent = new Map<string, ImageOutcome>();
  return {
    signatures: (request) => images.signatures(request),
    check: async (request) => {
      const { registry } = request.reference;
      const known = silent.get(registry);
      if (known !== undefined) return known;
      const outcome = await images.check(request);
      if (outcome.kind === 'unreachable') silent.set(registry, outcome);
      return outcome;
    },
  };
}
