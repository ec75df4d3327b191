import { parseImageReference } from '../model/image-reference.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { DeploymentInput } from './rule.ts';

const WHY = {
  unparsable: 'The text is not an image reference.',
  unpinned: 'The reference has neither a tag nor a digest, so what runs could change without a change here.',
  latest: 'The tag latest moves; pin the version that was tested.',
} as const;

export function imageRule({ draft }: DeploymentInput) {
  const { image } = draft;
  if (image === undefined || image === '') {
    return reject('image_required', {
      field: 'image',
      received: received(image),
      why: 'An image is required.',
    });
  }
  const parsed = parseImageReference(image);
  if (parsed.ok) return undefined;
  return reject('image_required', { field: 'image', received: received(image), why: WHY[parsed.problem] });
}
