import type { Filter } from './filter.ts';

export const platform: Filter = {
  name: 'platform',
  scope: 'node',
  steady: true,
  admits: ({ node }, request) =>
    request.imagePlatforms === undefined ||
    request.imagePlatforms.some((built) => runsOn(built, node.record.platform)),
  required: (request) => request.imagePlatforms?.join(' or ') ?? 'any platform',
  reported: ({ node }) => node.record.platform,
  refusal: ({ node }, request) => ({
    code: 'platform_mismatch',
    message: `the image is built for ${request.imagePlatforms?.join(', ') || 'no platform'}, the node is ${node.record.platform}`,
  }),
};

/** `os/arch[/variant]`: a variant that one side leaves out is not held against the other. */
function runsOn(built: string, node: string): boolean {
  const [os, arch, variant] = built.split('/');
  const [nodeOs, nodeArch, nodeVariant] = node.split('/');
  if (os !== nodeOs || arch !== nodeArch) return false;
  return variant === undefined || nodeVariant === undefined || variant === nodeVariant;
}
