import { createRequire } from 'node:module'

/**
 * Finds packages that the application has installed beside this one. An application that is bundled as CommonJS has no
 * `import.meta.url`: there its own file says where to look.
 */
export function peerPackages(here: string | undefined = import.meta.url): NodeJS.Require {
  return createRequire(here ?? process.argv[1] ?? `${process.cwd()}/`)
}
